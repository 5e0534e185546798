package filter

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// matches is what the prologue means, in plain Go.
func matches(rules []Rule, a Access) bool {
	for _, r := range rules {
		mask := uint16(0)
		for _, s := range rules {
			if s.Major == r.Major && s.Minor == r.Minor {
				m, _ := ParseAccess(s.Access)
				mask |= m
			}
		}
		if a.Type == Char && a.Major == r.Major && a.Minor == r.Minor && a.Bits&^mask == 0 {
			return true
		}
	}
	return false
}

// decides is what a device list means, in plain Go: bit by bit, the last line
// that names the device and the bit wins.
func decides(entries []Entry, a Access) bool {
	for _, bit := range []uint16{Mknod, Read, Write} {
		if a.Bits&bit == 0 {
			continue
		}
		allowed := false
		for _, e := range entries {
			if (e.Type == 0 || e.Type == a.Type) && (e.Major < 0 || uint32(e.Major) == a.Major) &&
				(e.Minor < 0 || uint32(e.Minor) == a.Minor) && e.Bits&bit != 0 {
				allowed = e.Allow
			}
		}
		if !allowed {
			return false
		}
	}
	return true
}

func randomRules(r *rand.Rand) []Rule {
	rules := make([]Rule, 1+r.IntN(20))
	for n := range rules {
		bits := uint16(1 + r.IntN(7))
		rules[n] = char(190+uint32(r.IntN(4)), uint32(r.IntN(5)), accessText(bits))
	}
	return rules
}

func randomEntries(r *rand.Rand) []Entry {
	entries := make([]Entry, r.IntN(8))
	for n := range entries {
		entries[n] = Entry{
			Allow: r.IntN(2) == 0, Type: uint16(r.IntN(3)), Bits: uint16(1 + r.IntN(7)),
			Major: int64(r.IntN(5)) + 189, Minor: int64(r.IntN(6)) - 1,
		}
		if r.IntN(3) == 0 {
			entries[n].Major = -1
		}
	}
	return entries
}

// everyAccess calls f with all requests near the numbers of the random rules.
func everyAccess(f func(Access)) {
	for _, typ := range []uint16{0, Block, Char, 3} {
		for bits := uint16(1); bits <= 7; bits++ {
			for major := uint32(188); major < 196; major++ {
				for minor := range uint32(7) {
					f(Access{typ, bits, major, minor})
				}
			}
		}
	}
}

func TestInterpreterAgainstMatcher(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		rules, entries := randomRules(r), randomEntries(r)
		body, err := Build(entries)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compose(rules, body)
		if err != nil {
			t.Fatal(err)
		}
		everyAccess(func(a Access) {
			got, err := p.Run(a)
			if want := matches(rules, a) || decides(entries, a); got != want || err != nil {
				t.Fatalf("%v and %v on %+v: got %v, %v, want %v", rules, entries, a, got, err, want)
			}
		})
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	p, err := Compose([]Rule{char(195, 0, "rw"), char(195, 1, "r")}, denyAll())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		rules []Rule
		want  bool
	}{
		{"whole", []Rule{char(195, 0, "rw")}, true},
		{"part", []Rule{char(195, 0, "w"), char(195, 1, "r")}, true},
		{"more access", []Rule{char(195, 0, "rwm")}, false},
		{"other access", []Rule{char(195, 1, "w")}, false},
		{"one of two", []Rule{char(195, 0, "rw"), char(195, 2, "r")}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := p.Grants(tt.rules); got != tt.want || err != nil {
				t.Errorf("Grants(%v): got %v, %v, want %v", tt.rules, got, err, tt.want)
			}
		})
	}
	// Only all bits together, no single one: not what a rule gives.
	odd := Program{
		loadCtx(2, ctxAccess), aluImm(opRsh, 2, 16), movImm(0, 1), jumpImm(opJEQ, 2, Read|Write, 1), movImm(0, 0), exit(),
	}
	if got, err := odd.Grants([]Rule{char(195, 0, "rw")}); got || err != nil {
		t.Errorf("Grants of rw without r: got %v, %v, want false", got, err)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		p    Program
	}{
		{"empty", nil},
		{"no exit", Program{movImm(0, 1)}},
		{"jump out", Program{{Code: classJMP | opJA, Off: 5}}},
		{"jump back for ever", Program{{Code: classJMP | opJA, Off: -1}}},
		{"call", Program{{Code: classJMP | opCall, Imm: 1}, exit()}},
		{"map", Program{{Code: classLD | sizeDW}, {}, exit()}},
		{"register 12", Program{movImm(12, 1), exit()}},
		{"signed division", Program{{Code: classALU64 | opDiv, Off: 1}, exit()}},
		{"byte swap", Program{{Code: classALU | 0xd0}, exit()}},
		{"write to the context", Program{{Code: classSTX | modeMEM | sizeW, Dst: 1, Src: 1}, exit()}},
		{"read past the context", Program{loadCtx(2, 12), exit()}},
		{"read before the context", Program{loadCtx(2, -4), exit()}},
		{"read past the stack", Program{{Code: classLDX | modeMEM | sizeW, Dst: 2, Src: 10}, exit()}},
		{"atomic", Program{{Code: classSTX | 0xc0 | sizeW, Dst: 10, Off: -4}, exit()}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.p.Run(Access{Type: Char, Bits: Read, Major: 1, Minor: 3})
			if got || !errors.Is(err, ErrNotUnderstood) {
				t.Errorf("Run: got %v, %v, want ErrNotUnderstood", got, err)
			}
		})
	}
}

// Each program returns 1 where the instruction does what the kernel does.
func TestInstructions(t *testing.T) {
	t.Parallel()
	expect := func(reg uint8, imm int32) []Insn {
		return []Insn{movImm(0, 0), jumpImm(opJNE, reg, imm, 1), movImm(0, 1), exit()}
	}
	op := func(code uint8, imm int32) Insn { return Insn{Code: code, Dst: 2, Imm: imm} }
	tests := []struct {
		name  string
		insns []Insn
		want  int32
	}{
		{"add", []Insn{movImm(2, 40), op(classALU64|opAdd, 2)}, 42},
		{"sub below 0", []Insn{movImm(2, 1), op(classALU64|opSub, 2)}, -1},
		{"mul", []Insn{movImm(2, 6), op(classALU64|opMul, 7)}, 42},
		{"div", []Insn{movImm(2, 85), op(classALU64|opDiv, 2)}, 42},
		{"div by 0", []Insn{movImm(2, 85), op(classALU64|opDiv, 0)}, 0},
		{"mod", []Insn{movImm(2, 85), op(classALU64|opMod, 43)}, 42},
		{"mod by 0", []Insn{movImm(2, 85), op(classALU64|opMod, 0)}, 85},
		{"or", []Insn{movImm(2, 40), op(classALU64|opOr, 2)}, 42},
		{"xor", []Insn{movImm(2, 40), op(classALU64|opXor, 2)}, 42},
		{"neg", []Insn{movImm(2, 42), op(classALU64|opNeg, 0)}, -42},
		{"lsh", []Insn{movImm(2, 21), op(classALU64|opLsh, 1)}, 42},
		{"arsh", []Insn{movImm(2, -84), op(classALU64|opArsh, 1)}, -42},
		{"rsh 32 of -1", []Insn{movImm(2, -1), op(classALU|opRsh, 31)}, 1},
		{"arsh 32", []Insn{movImm(2, -84), op(classALU|opArsh, 1), op(classALU64|opLsh, 32), op(classALU64|opArsh, 32)}, -42},
		{"mov 32 cuts", []Insn{movImm(2, -1), {Code: classALU | opMov | srcX, Dst: 2, Src: 2}, op(classALU64|opRsh, 31)}, 1},
		{"stack", []Insn{{Code: classST | modeMEM | sizeDW, Dst: 10, Off: -8, Imm: 42}, {Code: classLDX | modeMEM | sizeB, Dst: 2, Src: 10, Off: -8}}, 42},
		{"major", []Insn{loadCtx(2, ctxMajor)}, 7},
		{"access by half word", []Insn{{Code: classLDX | modeMEM | sizeH, Dst: 2, Src: 1, Off: 2}}, Read},
		{"jump 32", []Insn{movImm(2, -1), {Code: classJMP32 | opJSLT, Dst: 2, Imm: 0, Off: 1}, movImm(2, 9)}, -1},
		{"jump set", []Insn{movImm(2, 5), jumpImm(opJSET, 2, 4, 1), movImm(2, 9)}, 5},
		{"jump above is unsigned", []Insn{movImm(2, -1), jumpImm(opJGT, 2, 4, 1), movImm(2, 9)}, -1},
		{"jump above, signed", []Insn{movImm(2, -1), jumpImm(opJSGT, 2, 4, 1), movImm(2, 9)}, 9},
		{"barrier", []Insn{movImm(2, 42), {Code: classST | modeNospec}}, 42},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := append(Program(tt.insns), expect(2, tt.want)...)
			if got, err := p.Run(Access{Type: Char, Bits: Read, Major: 7}); !got || err != nil {
				t.Errorf("Run: got %v, %v, want r2 = %d", got, err, tt.want)
			}
		})
	}
}
