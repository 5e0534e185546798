package filter

import (
	"fmt"
	"slices"
)

// MaxRules is the most rules one prologue takes. A machine with 16 GPUs of
// 7 MIG slices needs under 250; the bound keeps every jump below 32768 and the
// program below the 4096 instructions of kernels before 5.2.
const MaxRules = 1024

// Offsets in struct bpf_cgroup_dev_ctx.
const (
	ctxAccess = 0 // Low 16 bits: type. High 16 bits: access.
	ctxMajor  = 4
	ctxMinor  = 8
)

// header loads the fields of the context into r2 (type), r3 (access), r4
// (major) and r5 (minor). r1, the context, stays: the program behind the
// prologue was verified with nothing but r1 and r10 set, so it reads no other
// register before it writes it.
var header = [...]Insn{
	loadCtx(2, ctxAccess),
	movReg(3, 2),
	aluImm(opRsh, 3, 16),
	aluImm(opAnd, 2, 0xffff),
	loadCtx(4, ctxMajor),
	loadCtx(5, ctxMinor),
}

// Prologue returns instructions that allow what the rules grant and fall
// through to whatever follows for everything else. A request is allowed when
// all its access bits are in the rule's, as systemd, runc and crun do it.
//
// It is put in front of a copy of the live program, and nothing is rebuilt,
// because programs are ANDed (BPF_F_ALLOW_MULTI): one more program can only
// take away, and only the copy keeps what the runtime decided for the rest.
func Prologue(rules []Rule) (Program, error) {
	rules, err := Merge(rules...)
	if err != nil {
		return nil, fmt.Errorf("build allow prologue: %w", err)
	}
	if len(rules) == 0 || len(rules) > MaxRules {
		return nil, fmt.Errorf("build allow prologue: %d rules, want 1 to %d", len(rules), MaxRules)
	}
	slices.SortStableFunc(rules, func(a, b Rule) int { return compareAccess(a, b) })

	p := Program(header[:len(header):len(header)])
	p = append(p, jumpImm(opJNE, 2, Char, 0)) // To the end.
	typeJump := len(p) - 1
	var allowJumps []int
	for i := 0; i < len(rules); {
		mask, _ := rules[i].mask()
		access := rules[i].Access
		p = append(p, movReg(0, 3), aluImm(opAnd, 0, int32(^uint32(mask))), jumpImm(opJNE, 0, 0, 0))
		accessJump := len(p) - 1
		for i < len(rules) && rules[i].Access == access {
			major := rules[i].Major
			p = append(p, jumpImm(opJNE, 4, int32(major), 0))
			majorJump := len(p) - 1
			for ; i < len(rules) && rules[i].Access == access && rules[i].Major == major; i++ {
				allowJumps = append(allowJumps, len(p))
				p = append(p, jumpImm(opJEQ, 5, int32(rules[i].Minor), 0))
			}
			p[majorJump].Off = int16(len(p) - majorJump - 1)
		}
		p[accessJump].Off = int16(len(p) - accessJump - 1)
	}
	p = append(p, Insn{Code: classJMP | opJA, Off: 2})
	for _, j := range allowJumps {
		p[j].Off = int16(len(p) - j - 1)
	}
	p = append(p, movImm(0, 1), exit())
	p[typeJump].Off = int16(len(p) - typeJump - 1)
	return p, nil
}

func compareAccess(a, b Rule) int {
	am, _ := a.mask()
	bm, _ := b.mask()
	return int(am) - int(bm)
}

// Split takes a prologue of ours off a program. Where there is none it returns
// no rules and the program itself. A prologue is recognised by its text alone:
// the rules read from it must give the same instructions again.
func Split(p Program) ([]Rule, Program) {
	if len(p) <= len(header) || !slices.Equal(p[:len(header)], header[:]) {
		return nil, p
	}
	var rules []Rule
	var access uint16
	var major uint32
	for n := len(header); n < len(p) && len(rules) <= MaxRules; n++ {
		switch i := p[n]; {
		case i.Code == classALU64|opAnd && i.Dst == 0:
			access = uint16(^uint32(i.Imm))
		case i.Code == classJMP|opJNE && i.Dst == 4:
			major = uint32(i.Imm)
		case i.Code == classJMP|opJEQ && i.Dst == 5:
			rules = append(rules, Rule{Type: 'c', Major: major, Minor: uint32(i.Imm), Access: accessText(access)})
		case i.Code == classJMP|opJA:
			again, err := Prologue(rules)
			if err == nil && len(again) < len(p) && slices.Equal(again, p[:len(again)]) {
				return rules, p[len(again):]
			}
			return nil, p
		}
	}
	return nil, p
}

// Compose returns the program with a prologue for the rules in front of it. A
// prologue of ours that is there already is replaced by one for its rules and
// the new ones together, so prologues never pile up.
func Compose(rules []Rule, p Program) (Program, error) {
	have, body := Split(p)
	all, err := Merge(append(slices.Clone(have), rules...)...)
	if err != nil {
		return nil, fmt.Errorf("build allow prologue: %w", err)
	}
	head, err := Prologue(all)
	if err != nil {
		return nil, err
	}
	if len(head)+len(body) > maxInsns {
		return nil, fmt.Errorf("prepend %d rules: %w", len(all), ErrTooLong)
	}
	return append(head, body...), nil
}
