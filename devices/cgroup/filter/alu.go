package filter

// alu returns the result of an arithmetic instruction on operands of the given
// width in bits. Division by zero gives 0 and a remainder by zero leaves the
// value, as the kernel's interpreter does (kernel/bpf/core.c).
func alu(i Insn, d, s, width uint64) (uint64, error) {
	// Offsets mark the signed forms of Linux 6.6 (cpu v4), not used here.
	if i.Off != 0 {
		return 0, ErrNotUnderstood
	}
	switch i.op() {
	case opAdd:
		return d + s, nil
	case opSub:
		return d - s, nil
	case opMul:
		return d * s, nil
	case opDiv:
		if s == 0 {
			return 0, nil
		}
		return d / s, nil
	case opMod:
		if s == 0 {
			return d, nil
		}
		return d % s, nil
	case opOr:
		return d | s, nil
	case opAnd:
		return d & s, nil
	case opXor:
		return d ^ s, nil
	case opMov:
		return s, nil
	case opNeg:
		return -d, nil
	case opLsh:
		return d << (s & (width - 1)), nil
	case opRsh:
		return d >> (s & (width - 1)), nil
	case opArsh:
		if width == 32 {
			return uint64(int64(int32(d)) >> (s & 31)), nil
		}
		return uint64(int64(d) >> (s & 63)), nil
	}
	return 0, ErrNotUnderstood
}

// compare says whether a conditional jump is taken.
func compare(i Insn, d, s uint64, sd, ss int64) (bool, error) {
	switch i.op() {
	case opJA:
		// In the 32-bit class this is the long jump of Linux 6.6.
		if i.class() != classJMP {
			return false, ErrNotUnderstood
		}
		return true, nil
	case opJEQ:
		return d == s, nil
	case opJNE:
		return d != s, nil
	case opJGT:
		return d > s, nil
	case opJGE:
		return d >= s, nil
	case opJLT:
		return d < s, nil
	case opJLE:
		return d <= s, nil
	case opJSET:
		return d&s != 0, nil
	case opJSGT:
		return sd > ss, nil
	case opJSGE:
		return sd >= ss, nil
	case opJSLT:
		return sd < ss, nil
	case opJSLE:
		return sd <= ss, nil
	}
	return false, ErrNotUnderstood
}
