package loader

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/gpu-hook/gpu-hook/mounts"
)

// MachineError is a host whose machine has no NVIDIA driver.
type MachineError struct{ Machine elf.Machine }

func (e *MachineError) Error() string {
	return fmt.Sprintf("inspect loader: no NVIDIA driver for %v", e.Machine)
}

// header is the first 20 bytes of an ELF file: e_ident, e_type, e_machine
// (System V gABI, chapter 4).
const headerSize = 20

// identify reads class and machine from the start of an ELF file. It is not ok
// for anything else, and for big endian files.
func identify(head []byte) (m elf.Machine, c elf.Class, ok bool) {
	if len(head) < headerSize || !bytes.HasPrefix(head, []byte(elf.ELFMAG)) ||
		elf.Data(head[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return elf.EM_NONE, elf.ELFCLASSNONE, false
	}
	return elf.Machine(binary.LittleEndian.Uint16(head[18:])), elf.Class(head[elf.EI_CLASS]), true
}

// readHeader identifies a file of the container.
func readHeader(r *mounts.Root, unsafePath string) (elf.Machine, elf.Class, bool) {
	f, err := r.Open(unsafePath)
	if err != nil {
		return elf.EM_NONE, elf.ELFCLASSNONE, false
	}
	defer func() { _ = f.Close() }() // Only read from.
	var head [headerSize]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return elf.EM_NONE, elf.ELFCLASSNONE, false
	}
	return identify(head[:])
}

// machineOf returns the machine of an ELF file, EM_NONE for anything else.
func machineOf(r *mounts.Root, unsafePath string) elf.Machine {
	m, _, _ := readHeader(r, unsafePath)
	return m
}

// matches reports whether a file can be used by programs of target t. The
// loader passes over a file of another class or machine.
func matches(r *mounts.Root, unsafePath string, t *target) bool {
	m, c, ok := readHeader(r, unsafePath)
	return ok && m == t.machine && c == t.class
}
