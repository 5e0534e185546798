package filter

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// blind does to a program what a hardened kernel does (bpf_jit_blind_insn).
func blind(p Program, r *rand.Rand) Program {
	at := make([]int, len(p)+1)
	var out Program
	for n, i := range p {
		at[n] = len(out)
		out = append(out, blindOne(i, r)...)
	}
	at[len(p)] = len(out)
	for n, i := range p {
		if i.jumps() {
			last := at[n+1] - 1
			out[last].Off = int16(at[n+1+int(i.Off)] - last - 1)
		}
	}
	return out
}

func blindOne(i Insn, r *rand.Rand) []Insn {
	c := i.class()
	arithmetic := c == classALU || c == classALU64
	if i.Code&srcX != 0 || i.op() == opNeg && arithmetic || !arithmetic && (!i.jumps() || i.op() == opJA) {
		return []Insn{i}
	}
	if arithmetic && i.op() == opMov && i.Imm == 0 {
		return []Insn{{Code: classALU64 | opXor | srcX, Dst: i.Dst, Src: i.Dst}}
	}
	class := uint8(classALU64)
	if c == classALU || c == classJMP32 {
		class = classALU
	}
	key := int32(r.Uint32())
	use := i
	use.Code |= srcX
	use.Src, use.Imm = regAX, 0
	return []Insn{{Code: class | opMov, Dst: regAX, Imm: i.Imm ^ key}, {Code: class | opXor, Dst: regAX, Imm: key}, use}
}

func TestCleanUndoesBlinding(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		body, err := Build(randomEntries(r))
		if err != nil {
			t.Fatal(err)
		}
		want, err := Compose(randomRules(r), body)
		if err != nil {
			t.Fatal(err)
		}
		dump := blind(want, r)
		if len(dump) < 2*len(want) {
			t.Fatalf("blinded %d instructions to %d, want a test that blinds", len(want), len(dump))
		}
		got, err := Clean(dump)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("Clean (-want +got):\n%s", diff)
		}
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	ax := func(code uint8, imm int32) Insn { return Insn{Code: code, Dst: regAX, Imm: imm} }
	use := Insn{Code: classALU64 | opMov | srcX, Dst: 2, Src: regAX}
	zext := Insn{Code: classALU | opMov | srcX, Dst: 2, Src: 2, Imm: 1}
	tests := []struct {
		name string
		in   Program
		want Program
		err  error
	}{
		{"plain", denyAll(), denyAll(), nil},
		{"all zeros", make(Program, 64), nil, ErrHidden},
		{"nothing", nil, nil, ErrHidden},
		{
			"zero extension",
			Program{loadCtx(2, 0), zext, movImm(0, 0), jumpImm(opJEQ, 2, 2, 1), zext, exit()},
			Program{loadCtx(2, 0), movImm(0, 0), jumpImm(opJEQ, 2, 2, 0), exit()},
			nil,
		},
		{
			"jump over a barrier",
			Program{jumpImm(opJEQ, 1, 0, 1), {Code: classST | modeNospec}, movImm(0, 1), exit()},
			Program{jumpImm(opJEQ, 1, 0, 0), movImm(0, 1), exit()},
			nil,
		},
		{
			"blinded",
			Program{ax(classALU64|opMov, 5^9), ax(classALU64|opXor, 9), use, movImm(0, 1), exit()},
			Program{movImm(2, 5), movImm(0, 1), exit()},
			nil,
		},
		{"no xor", Program{ax(classALU64|opMov, 5), use, movImm(0, 1), exit()}, nil, ErrBlinded},
		{"wrong width", Program{ax(classALU|opMov, 5), ax(classALU|opXor, 5), use, exit()}, nil, ErrBlinded},
		{"cut short", Program{ax(classALU64|opMov, 5), ax(classALU64|opXor, 5)}, nil, ErrBlinded},
		{"used twice", Program{ax(classALU64|opMov, 5), ax(classALU64|opXor, 9), use, use, exit()}, nil, ErrBlinded},
		{"used as address", Program{ax(classALU64|opMov, 5), ax(classALU64|opXor, 9), {Code: classLDX | modeMEM | srcX, Dst: 2, Src: regAX}, exit()}, nil, ErrBlinded},
		{"jump into the middle", Program{
			jumpImm(opJEQ, 1, 0, 1), ax(classALU64|opMov, 5), ax(classALU64|opXor, 9), use, exit(),
		}, nil, ErrNotUnderstood},
		{"jump out", Program{jumpImm(opJEQ, 1, 0, 9), exit()}, nil, ErrNotUnderstood},
		{"jump behind the end", Program{jumpImm(opJEQ, 1, 0, 1), exit()}, nil, ErrNotUnderstood},
		{"call", Program{{Code: classJMP | opCall, Imm: 7}, exit()}, nil, ErrNotUnderstood},
		{"map", Program{{Code: classLD | sizeDW, Src: 1}, {}, exit()}, nil, ErrNotUnderstood},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Clean(tt.in)
			if !errors.Is(err, tt.err) {
				t.Fatalf("Clean: got %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Clean (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	p, err := Prologue([]Rule{char(195, 255, "rwm")})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(p.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, got); diff != "" {
		t.Errorf("Decode of Encode (-want +got):\n%s", diff)
	}
	for _, size := range []int{0, 7, 9, (maxInsns + 1) * insnSize} {
		if got, err := Decode(make([]byte, size)); err == nil || got != nil {
			t.Errorf("Decode of %d bytes: got %d instructions, want an error", size, len(got))
		}
	}
}
