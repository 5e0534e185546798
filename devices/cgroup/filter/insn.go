package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Instruction classes, sizes, modes and operations, from the kernel's
// include/uapi/linux/bpf_common.h and bpf.h.
const (
	classLD    = 0x00
	classLDX   = 0x01
	classST    = 0x02
	classSTX   = 0x03
	classALU   = 0x04
	classJMP   = 0x05
	classJMP32 = 0x06
	classALU64 = 0x07

	sizeW  = 0x00
	sizeH  = 0x08
	sizeB  = 0x10
	sizeDW = 0x18

	modeMEM    = 0x60
	modeNospec = 0xc0 // speculation barrier put in by the verifier, Linux 5.15.

	srcX = 0x08 // The operand is a register, not a constant.

	opAdd  = 0x00
	opSub  = 0x10
	opMul  = 0x20
	opDiv  = 0x30
	opOr   = 0x40
	opAnd  = 0x50
	opLsh  = 0x60
	opRsh  = 0x70
	opNeg  = 0x80
	opMod  = 0x90
	opXor  = 0xa0
	opMov  = 0xb0
	opArsh = 0xc0

	opJA   = 0x00
	opJEQ  = 0x10
	opJGT  = 0x20
	opJGE  = 0x30
	opJSET = 0x40
	opJNE  = 0x50
	opJSGT = 0x60
	opJSGE = 0x70
	opCall = 0x80
	opExit = 0x90
	opJLT  = 0xa0
	opJLE  = 0xb0
	opJSLT = 0xc0
	opJSLE = 0xd0
)

// regAX is the register that constant blinding uses (BPF_REG_AX). No loaded
// program can name it, so its presence marks a blinded dump.
const regAX = 11

// insnSize is the size of an encoded instruction in bytes.
const insnSize = 8

// maxInsns is the most instructions that one program may have. Kernels before
// 5.2 (commit c04c0d2b968a) take 4096; no device program seen has over 200.
const maxInsns = 4096

// ErrTooLong is returned for a program over the kernel's size limit.
var ErrTooLong = errors.New("program is longer than 4096 instructions")

// Insn is one BPF instruction.
type Insn struct {
	Code     uint8
	Dst, Src uint8
	Off      int16
	Imm      int32
}

// Program is a sequence of instructions. Jump offsets count instructions.
type Program []Insn

// Decode reads the instructions of a dump. It fails on a length that is not a
// whole number of instructions, on an empty dump and on one that is too long.
func Decode(b []byte) (Program, error) {
	if len(b) == 0 || len(b)%insnSize != 0 {
		return nil, fmt.Errorf("decode program of %d bytes: not a whole number of instructions", len(b))
	}
	if len(b)/insnSize > maxInsns {
		return nil, fmt.Errorf("decode program: %w", ErrTooLong)
	}
	p := make(Program, 0, len(b)/insnSize)
	for ; len(b) > 0; b = b[insnSize:] {
		p = append(p, Insn{
			Code: b[0],
			Dst:  b[1] & 0xf,
			Src:  b[1] >> 4,
			Off:  int16(binary.LittleEndian.Uint16(b[2:])),
			Imm:  int32(binary.LittleEndian.Uint32(b[4:])),
		})
	}
	return p, nil
}

// Encode returns the instructions as the kernel takes them.
func (p Program) Encode() []byte {
	b := make([]byte, 0, len(p)*insnSize)
	for _, i := range p {
		b = append(b, i.Code, i.Src<<4|i.Dst&0xf)
		b = binary.LittleEndian.AppendUint16(b, uint16(i.Off))
		b = binary.LittleEndian.AppendUint32(b, uint32(i.Imm))
	}
	return b
}

func (i Insn) class() uint8 { return i.Code & 7 }

func (i Insn) op() uint8 { return i.Code & 0xf0 }

// jumps reports whether the instruction has a jump offset.
func (i Insn) jumps() bool {
	c := i.class()
	return (c == classJMP || c == classJMP32) && i.op() != opCall && i.op() != opExit
}

func movImm(dst uint8, imm int32) Insn {
	return Insn{Code: classALU64 | opMov, Dst: dst, Imm: imm}
}

func movReg(dst, src uint8) Insn {
	return Insn{Code: classALU64 | opMov | srcX, Dst: dst, Src: src}
}

func aluImm(op, dst uint8, imm int32) Insn {
	return Insn{Code: classALU64 | op, Dst: dst, Imm: imm}
}

func jumpImm(op, dst uint8, imm int32, off int16) Insn {
	return Insn{Code: classJMP | op, Dst: dst, Imm: imm, Off: off}
}

func loadCtx(dst uint8, off int16) Insn {
	return Insn{Code: classLDX | modeMEM | sizeW, Dst: dst, Src: 1, Off: off}
}

func exit() Insn { return Insn{Code: classJMP | opExit} }
