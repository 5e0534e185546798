package filter

import "fmt"

// Bounds of the comparison of a dump and its clean form. It is the second net:
// the first is that [unblind] takes nothing but the very pattern of the kernel.
// 32 numbers with 4 minors each, 2 types and 7 accesses are 1792 runs of both
// programs, 2 ms, and only on hardened kernels.
const (
	maxAgreeNumbers = 32
	minorsPerMajor  = 4
)

// agree compares the verdicts of two programs on the numbers that the second
// one compares with, on their neighbours, and on some that it does not name.
// Each major goes with the numbers that stand next in the text, since a
// comparison of the minor follows that of its major.
func agree(a, b Program) error {
	numbers := compared(b)
	for n, major := range numbers {
		for k := range minorsPerMajor {
			minor := numbers[(n+k)%len(numbers)]
			if err := agreeOn(a, b, major, minor); err != nil {
				return fmt.Errorf("check clean dump: %w", err)
			}
		}
	}
	return nil
}

func agreeOn(a, b Program, major, minor uint32) error {
	for _, typ := range []uint16{Block, Char} {
		for bits := uint16(1); bits <= Mknod|Read|Write; bits++ {
			req := Access{Type: typ, Bits: bits, Major: major, Minor: minor}
			va, err := a.Run(req)
			if err != nil {
				return err
			}
			vb, err := b.Run(req)
			if err != nil {
				return err
			}
			if va != vb {
				return fmt.Errorf("verdicts differ on %d:%d: %w", major, minor, ErrBlinded)
			}
		}
	}
	return nil
}

// compared returns constants of the program's comparisons, first ones first,
// after a few numbers that stand for all others.
func compared(p Program) []uint32 {
	numbers := []uint32{0, 4095}
	seen := map[uint32]bool{0: true, 4095: true}
	for _, i := range p {
		if !i.jumps() || i.Code&srcX != 0 || i.op() == opJA {
			continue
		}
		for _, n := range []uint32{uint32(i.Imm), uint32(i.Imm) + 1} {
			if !seen[n] && len(numbers) < maxAgreeNumbers {
				seen[n] = true
				numbers = append(numbers, n)
			}
		}
	}
	return numbers
}
