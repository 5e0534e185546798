package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrNotUnderstood is wrapped by errors about instructions that the
// interpreter does not know: helper calls, maps, atomics.
var ErrNotUnderstood = errors.New("instruction not understood")

// maxSteps bounds one run. Device programs are straight lines of comparisons,
// so the bound only stops a program with loops.
const maxSteps = 1 << 16

// Access is one request for a device, as the kernel puts it to a program.
type Access struct {
	Type         uint16 // Block or Char.
	Bits         uint16 // Mknod, Read and Write.
	Major, Minor uint32
}

// Memory as the interpreter sees it: the context and the stack lie at made-up
// addresses, far apart, so that no arithmetic leads from one to the other.
const (
	ctxBase   = 0x1000_0000_0000
	stackSize = 512
	stackTop  = 0x2000_0000_0000
)

type machine struct {
	reg   [12]uint64
	ctx   [12]byte
	stack [stackSize]byte
}

// Run says whether the program allows the request. It runs the very
// instructions, those of a blinded dump as well.
func (p Program) Run(a Access) (bool, error) {
	var m machine
	binary.LittleEndian.PutUint32(m.ctx[ctxAccess:], uint32(a.Type)|uint32(a.Bits)<<16)
	binary.LittleEndian.PutUint32(m.ctx[ctxMajor:], a.Major)
	binary.LittleEndian.PutUint32(m.ctx[ctxMinor:], a.Minor)
	m.reg[1], m.reg[10] = ctxBase, stackTop
	for pc, steps := 0, 0; steps < maxSteps; steps++ {
		if pc < 0 || pc >= len(p) {
			return false, fmt.Errorf("run program: jump to %d of %d instructions: %w", pc, len(p), ErrNotUnderstood)
		}
		i := p[pc]
		if i.Dst > regAX || i.Src > regAX {
			return false, fmt.Errorf("run program: instruction %d: register: %w", pc, ErrNotUnderstood)
		}
		if i.Code == classJMP|opExit {
			return uint32(m.reg[0]) != 0, nil
		}
		taken, err := m.step(i)
		if err != nil {
			return false, fmt.Errorf("run program: instruction %d (code %#x): %w", pc, i.Code, err)
		}
		pc++
		if taken {
			pc += int(i.Off)
		}
	}
	return false, fmt.Errorf("run program: no verdict after %d steps: %w", maxSteps, ErrNotUnderstood)
}

// Grants says whether the program allows everything the rules give: each
// rule's access as a whole and every part of it.
func (p Program) Grants(rules []Rule) (bool, error) {
	for _, r := range rules {
		mask, err := r.mask()
		if err != nil {
			return false, err
		}
		for bits := uint16(1); bits <= mask; bits++ {
			if bits&^mask != 0 {
				continue
			}
			ok, err := p.Run(Access{Type: Char, Bits: bits, Major: r.Major, Minor: r.Minor})
			if err != nil || !ok {
				return false, err
			}
		}
	}
	return true, nil
}

// step carries out one instruction and says whether it jumps.
func (m *machine) step(i Insn) (bool, error) {
	operand := uint64(int64(i.Imm))
	if i.Code&srcX != 0 {
		operand = m.reg[i.Src]
	}
	switch i.class() {
	case classALU64:
		v, err := alu(i, m.reg[i.Dst], operand, 64)
		m.reg[i.Dst] = v
		return false, err
	case classALU:
		v, err := alu(i, uint64(uint32(m.reg[i.Dst])), uint64(uint32(operand)), 32)
		m.reg[i.Dst] = uint64(uint32(v))
		return false, err
	case classJMP:
		return compare(i, m.reg[i.Dst], operand, int64(m.reg[i.Dst]), int64(operand))
	case classJMP32:
		d, s := uint32(m.reg[i.Dst]), uint32(operand)
		return compare(i, uint64(d), uint64(s), int64(int32(d)), int64(int32(s)))
	case classLDX:
		b, err := m.memory(m.reg[i.Src], i)
		if err == nil {
			var word [8]byte
			copy(word[:], b)
			m.reg[i.Dst] = binary.LittleEndian.Uint64(word[:])
		}
		return false, err
	case classST, classSTX:
		if i.Code == classST|modeNospec {
			return false, nil
		}
		b, err := m.memory(m.reg[i.Dst], i)
		if err == nil {
			if i.class() == classSTX {
				operand = m.reg[i.Src]
			} else {
				operand = uint64(int64(i.Imm))
			}
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], operand)
			copy(b, word[:])
		}
		return false, err
	}
	return false, ErrNotUnderstood
}

// memory returns the bytes that a load or store names. The context cannot be
// written (cgroup_dev_is_valid_access in kernel/bpf/cgroup.c).
func (m *machine) memory(base uint64, i Insn) ([]byte, error) {
	if i.Code&0xe0 != modeMEM {
		return nil, ErrNotUnderstood
	}
	size := [...]uint64{sizeW >> 3: 4, sizeH >> 3: 2, sizeB >> 3: 1, sizeDW >> 3: 8}[i.Code>>3&3]
	addr := base + uint64(int64(i.Off))
	if at := addr - ctxBase; at < uint64(len(m.ctx)) && at+size <= uint64(len(m.ctx)) && i.class() == classLDX {
		return m.ctx[at : at+size], nil
	}
	if at := addr - (stackTop - stackSize); at < stackSize && at+size <= stackSize {
		return m.stack[at : at+size], nil
	}
	return nil, fmt.Errorf("address %#x: %w", addr, ErrNotUnderstood)
}
