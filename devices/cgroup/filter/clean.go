package filter

import (
	"errors"
	"fmt"
	"math"
)

// Errors about dumps that cannot be loaded again.
var (
	// ErrHidden is returned for a dump of nothing but zeros: the kernel keeps
	// the text to itself (net.core.bpf_jit_harden=2 with kernel.kptr_restrict=2).
	ErrHidden = errors.New("program text is hidden by the kernel")

	// ErrBlinded is returned where blinding cannot be undone with certainty.
	ErrBlinded = errors.New("program text is blinded (net.core.bpf_jit_harden=2)")
)

// Clean returns the program as it was loaded, from a dump. It undoes constant
// blinding, drops what the verifier put in (zero extensions on machines whose
// JIT needs them, as ppc64le; speculation barriers), and refuses text that
// cannot be loaded again. A blinded program is not trusted: the clean text must
// give the same verdicts as the blinded one, and the kernel verifies it again.
func Clean(dump Program) (Program, error) {
	if hidden(dump) {
		return nil, fmt.Errorf("read dump: %w", ErrHidden)
	}
	clean := make(Program, 0, len(dump))
	at := make([]int, len(dump)+1) // Old position to new one.
	home := make([]int, 0, len(dump))
	blinded := false
	for n := 0; n < len(dump); {
		at[n] = len(clean)
		insn, width, err := original(dump[n:])
		if err != nil {
			return nil, fmt.Errorf("read dump: instruction %d: %w", n, err)
		}
		for i := 1; i < width; i++ {
			at[n+i] = -1
		}
		blinded = blinded || width > 1
		if width > 0 {
			clean = append(clean, insn)
			home = append(home, n+width-1)
		}
		n += max(width, 1)
	}
	at[len(dump)] = len(clean)
	for n, i := range clean {
		if !i.jumps() {
			continue
		}
		old := home[n] + 1 + int(i.Off)
		if old < 0 || old >= len(dump) || at[old] < 0 {
			return nil, fmt.Errorf("read dump: instruction %d jumps to %d: %w", home[n], old, ErrNotUnderstood)
		}
		off := at[old] - n - 1
		if off < math.MinInt16 || off > math.MaxInt16 {
			return nil, fmt.Errorf("read dump: instruction %d: %w", home[n], ErrTooLong)
		}
		clean[n].Off = int16(off)
	}
	if blinded {
		if err := agree(dump, clean); err != nil {
			return nil, err
		}
	}
	return clean, nil
}

func hidden(p Program) bool {
	for _, i := range p {
		if i != (Insn{}) {
			return false
		}
	}
	return true
}

// original returns the instruction that the dump's first ones stand for, and
// how many they are: 3 where a constant is blinded, 0 for an addition of the
// verifier that is to be left out.
func original(d Program) (Insn, int, error) {
	i := d[0]
	switch {
	case i.Code == classST|modeNospec:
		return i, 0, nil
	case i.Code == classALU|opMov|srcX && i.Imm == 1 && i.Dst == i.Src:
		// BPF_ZEXT_REG, include/linux/filter.h; "reserved field" on loading.
		return i, 0, nil
	case i.class() == classJMP && i.op() == opCall, i.class() == classLD:
		return i, 0, ErrNotUnderstood
	case i.Dst == regAX:
		return unblind(d)
	case i.Src == regAX && i.Code&srcX != 0:
		return i, 0, ErrBlinded
	case i.Code == classALU64|opXor|srcX && i.Dst == i.Src:
		// How blinding writes "move 0", which the verifier refuses for a
		// register that is not set yet.
		return movImm(i.Dst, 0), 1, nil
	}
	return i, 1, nil
}

// unblind undoes what bpf_jit_blind_insn in kernel/bpf/core.c does to one
// instruction with a constant C: "ax = R^C; ax ^= R; op dst, ax".
func unblind(d Program) (Insn, int, error) {
	if len(d) < 3 {
		return Insn{}, 0, ErrBlinded
	}
	mov, xor, use := d[0], d[1], d[2]
	class := uint8(classALU64)
	if c := use.class(); c == classALU || c == classJMP32 {
		class = classALU
	}
	plain := func(i Insn, op uint8) bool {
		return i.Code == class|op && i.Dst == regAX && i.Src == 0 && i.Off == 0
	}
	if !plain(mov, opMov) || !plain(xor, opXor) || use.Src != regAX || use.Dst >= regAX || use.Code&srcX == 0 {
		return Insn{}, 0, ErrBlinded
	}
	switch use.class() {
	case classALU, classALU64:
		if use.op() > opArsh || use.op() == opNeg {
			return Insn{}, 0, ErrBlinded
		}
	case classJMP, classJMP32:
		if !use.jumps() || use.op() == opJA {
			return Insn{}, 0, ErrBlinded
		}
	default:
		return Insn{}, 0, ErrBlinded
	}
	use.Code &^= srcX
	use.Src = 0
	use.Imm = mov.Imm ^ xor.Imm
	return use, 3, nil
}
