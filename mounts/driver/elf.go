package driver

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits of what is read of an ELF file, in bytes or entries. The largest
// driver library, libnvidia-rtcore of 535 with 60 MB, has 9 program headers
// and a dynamic section of 560 bytes; the longest SONAME has 44 bytes.
const (
	maxSegments = 64
	maxDynamic  = 64 << 10
	maxSONAME   = 256
)

// errNotELF marks a file that is no shared object the loader would take.
var errNotELF = errors.New("not a shared object")

// object is what the header of a shared object says.
type object struct {
	class   elf.Class
	machine elf.Machine
}

// header is a parsed ELF header with what is needed to go on reading.
type header struct {
	object
	segments     uint64 // file offset of the program headers
	count, entry int
}

// readHeader reads the first 64 bytes: class, machine, and where the program
// headers are. debug/elf reads every section, too: 53 us for the SONAME of
// libcuda 535, where this takes 10 us. All machines with a driver are little endian.
func readHeader(r io.ReaderAt) (header, error) {
	var b [64]byte
	n, err := r.ReadAt(b[:], 0)
	if err != nil && err != io.EOF {
		return header{}, fmt.Errorf("read ELF header: %w", err)
	}
	if n < 52 || !bytes.HasPrefix(b[:], []byte(elf.ELFMAG)) {
		return header{}, fmt.Errorf("read ELF header: %w", errNotELF)
	}
	le := binary.LittleEndian
	h := header{object: object{class: elf.Class(b[elf.EI_CLASS]), machine: elf.Machine(le.Uint16(b[18:]))}}
	if elf.Data(b[elf.EI_DATA]) != elf.ELFDATA2LSB || elf.Type(le.Uint16(b[16:])) != elf.ET_DYN {
		return header{}, fmt.Errorf("read ELF header: %w", errNotELF)
	}
	switch {
	case h.class == elf.ELFCLASS64 && n == 64:
		h.segments, h.entry, h.count = le.Uint64(b[32:]), int(le.Uint16(b[54:])), int(le.Uint16(b[56:]))
	case h.class == elf.ELFCLASS32:
		h.segments, h.entry, h.count = uint64(le.Uint32(b[28:])), int(le.Uint16(b[42:])), int(le.Uint16(b[44:]))
	default:
		return header{}, fmt.Errorf("read ELF header: %w", errNotELF)
	}
	return h, nil
}

// segment is a part of a program header, in bytes.
type segment struct {
	kind              elf.ProgType
	off, vaddr, inner uint64 // inner is the size in the file
}

// readSONAME reads the DT_SONAME of an object, empty if it has none.
func readSONAME(r io.ReaderAt, h header) (string, error) {
	segments, err := readSegments(r, h)
	if err != nil {
		return "", err
	}
	for _, s := range segments {
		if s.kind != elf.PT_DYNAMIC {
			continue
		}
		table, name, ok, err := readDynamic(r, h.class, s)
		if err != nil || !ok {
			return "", err
		}
		return readString(r, segments, table, name)
	}
	return "", nil
}

func readSegments(r io.ReaderAt, h header) ([]segment, error) {
	want := 56
	if h.class == elf.ELFCLASS32 {
		want = 32
	}
	if h.entry != want || h.count > maxSegments {
		return nil, fmt.Errorf("read program headers: %w: %d of %d bytes", errNotELF, h.count, h.entry)
	}
	b, err := readAt(r, h.segments, h.count*h.entry)
	if err != nil {
		return nil, fmt.Errorf("read program headers: %w", err)
	}
	le := binary.LittleEndian
	segments := make([]segment, 0, h.count)
	for ; len(b) >= want; b = b[want:] {
		s := segment{kind: elf.ProgType(le.Uint32(b))}
		if want == 56 {
			s.off, s.vaddr, s.inner = le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[32:])
		} else {
			s.off, s.vaddr, s.inner = uint64(le.Uint32(b[4:])), uint64(le.Uint32(b[8:])), uint64(le.Uint32(b[16:]))
		}
		segments = append(segments, s)
	}
	return segments, nil
}

// readDynamic returns the address of the string table and the SONAME's offset
// in it.
func readDynamic(r io.ReaderAt, class elf.Class, s segment) (table, name uint64, ok bool, err error) {
	b, err := readAt(r, s.off, int(min(s.inner, maxDynamic)))
	if err != nil {
		return 0, 0, false, fmt.Errorf("read dynamic section: %w", err)
	}
	le := binary.LittleEndian
	size := 16
	if class == elf.ELFCLASS32 {
		size = 8
	}
	var haveName, haveTable bool
	for ; len(b) >= size; b = b[size:] {
		var tag elf.DynTag
		var value uint64
		if size == 16 {
			tag, value = elf.DynTag(le.Uint64(b)), le.Uint64(b[8:])
		} else {
			tag, value = elf.DynTag(le.Uint32(b)), uint64(le.Uint32(b[4:]))
		}
		switch tag {
		case elf.DT_NULL:
			return table, name, haveName && haveTable, nil
		case elf.DT_SONAME:
			name, haveName = value, true
		case elf.DT_STRTAB:
			table, haveTable = value, true
		}
	}
	return table, name, haveName && haveTable, nil
}

// readString reads a string of the table at an address in memory.
func readString(r io.ReaderAt, segments []segment, table, name uint64) (string, error) {
	for _, s := range segments {
		if s.kind != elf.PT_LOAD || table < s.vaddr || table-s.vaddr >= s.inner {
			continue
		}
		left := s.inner - (table - s.vaddr)
		if name >= left {
			break
		}
		b, err := readAt(r, s.off+(table-s.vaddr)+name, int(min(left-name, maxSONAME)))
		if err != nil {
			return "", fmt.Errorf("read SONAME: %w", err)
		}
		if end := bytes.IndexByte(b, 0); end >= 0 && !bytes.ContainsRune(b[:end], '/') {
			return string(b[:end]), nil
		}
		break
	}
	return "", fmt.Errorf("read SONAME: %w", errNotELF)
}

// readAt reads size bytes at an offset that the file itself gave.
func readAt(r io.ReaderAt, off uint64, size int) ([]byte, error) {
	if off > 1<<62 {
		return nil, errNotELF
	}
	b := make([]byte, size)
	if n, err := r.ReadAt(b, int64(off)); n < size {
		if err == nil || err == io.EOF {
			err = errNotELF
		}
		return nil, err
	}
	return b, nil
}
