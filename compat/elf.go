package compat

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits on what is read of an image's library. NVIDIA's libcuda has about 40
// sections, a string table of 400 bytes and notes of 300; the file itself
// (20 to 100 MB) is never read whole.
const (
	maxSections    = 1024
	maxNameTable   = 64 << 10
	maxNoteSection = 64 << 10
)

// errNotLibrary means that a file is not an ELF shared library.
var errNotLibrary = errors.New("not a shared library")

// section is what is needed of one section header.
type section struct {
	name, kind          uint32
	offset, size, align uint64
}

// image is an ELF file of which the headers have been read.
type image struct {
	file    io.ReaderAt
	size    int64
	order   binary.ByteOrder
	wide    bool // 64-bit
	machine elf.Machine
}

// openImage reads the file header. The package debug/elf is not used for this
// because it reads and keeps every section's header, name and symbol version,
// and its memory use follows what the file claims.
func openImage(file io.ReaderAt, size int64) (image, []byte, error) {
	header := make([]byte, 64)
	n, err := file.ReadAt(header, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return image{}, nil, fmt.Errorf("read ELF header: %w", err)
	}
	if n < 52 || string(header[:4]) != elf.ELFMAG {
		return image{}, nil, errNotLibrary
	}
	img := image{file: file, size: size}
	switch elf.Class(header[elf.EI_CLASS]) {
	case elf.ELFCLASS64:
		img.wide = true
	case elf.ELFCLASS32:
	default:
		return image{}, nil, errNotLibrary
	}
	switch elf.Data(header[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		img.order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		img.order = binary.BigEndian
	default:
		return image{}, nil, errNotLibrary
	}
	if img.wide && n < 64 || elf.Type(img.order.Uint16(header[16:])) != elf.ET_DYN {
		return image{}, nil, errNotLibrary
	}
	img.machine = elf.Machine(img.order.Uint16(header[18:]))
	return img, header, nil
}

// sections reads the table of section headers and the table of their names.
func (img image) sections(header []byte) ([]section, []byte, error) {
	offset, entry, at := uint64(img.order.Uint32(header[32:])), 40, 46
	if img.wide {
		offset, entry, at = img.order.Uint64(header[40:]), 64, 58
	}
	size := int(img.order.Uint16(header[at:]))
	count := int(img.order.Uint16(header[at+2:]))
	names := int(img.order.Uint16(header[at+4:]))
	switch {
	case offset == 0 || count == 0:
		return nil, nil, ErrNoNote
	case size != entry || count > maxSections || names >= count:
		return nil, nil, fmt.Errorf("read section headers: %d of %d bytes, names in %d", count, size, names)
	}
	table, err := img.bytes(offset, uint64(count*size), maxSections*64)
	if err != nil {
		return nil, nil, fmt.Errorf("read section headers: %w", err)
	}
	list := make([]section, count)
	for i := range list {
		list[i] = img.section(table[i*size:])
	}
	text, err := img.bytes(list[names].offset, list[names].size, maxNameTable)
	if err != nil {
		return nil, nil, fmt.Errorf("read section names: %w", err)
	}
	return list, text, nil
}

func (img image) section(raw []byte) section {
	s := section{name: img.order.Uint32(raw), kind: img.order.Uint32(raw[4:])}
	if img.wide {
		s.offset, s.size, s.align = img.order.Uint64(raw[24:]), img.order.Uint64(raw[32:]), img.order.Uint64(raw[48:])
		return s
	}
	s.offset, s.size = uint64(img.order.Uint32(raw[16:])), uint64(img.order.Uint32(raw[20:]))
	s.align = uint64(img.order.Uint32(raw[32:]))
	return s
}

// bytes reads size bytes at offset, at most limit, all inside the file.
func (img image) bytes(offset, size, limit uint64) ([]byte, error) {
	end := uint64(img.size)
	if size > limit || offset > end || size > end-offset {
		return nil, fmt.Errorf("%d bytes at %d do not fit in a file of %d", size, offset, img.size)
	}
	data := make([]byte, size)
	if n, err := img.file.ReadAt(data, int64(offset)); n < len(data) {
		return nil, err
	}
	return data, nil
}
