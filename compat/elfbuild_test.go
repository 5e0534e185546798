package compat

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// library describes an ELF file to build.
type library struct {
	order   binary.ByteOrder
	narrow  bool // 32-bit
	machine elf.Machine
	section string // name of the note's section
	kind    elf.SectionType
	align   uint64 // of the section
	gabi    bool   // pad header and name together
	owner   string
	desc    string
	// Lengths that the note claims, where they are not the right ones.
	nameSize, descSize uint32
	// before is a note of another owner in front.
	before bool
	// change edits the finished file.
	change func([]byte)
}

const fixtureNote = `{"format":1,"CUDA version":"12.9","driver":[535,550,560,565,570,575],"device":[1,2,7,8,9,10,11,12,13,14]}` + "\x00"

// plainLibrary has a note as the packages have it.
func plainLibrary(desc string) library {
	return library{
		order: binary.LittleEndian, machine: elf.EM_X86_64, section: noteSection, kind: elf.SHT_NOTE, align: 4,
		owner: noteOwner + "\x00", desc: desc,
	}
}

// build makes the file: header, note, names, section headers (null, note,
// names).
func (l library) build() []byte {
	size := func(n int) int {
		align := int(max(l.align, 1))
		if align != 8 {
			align = 4
		}
		return (n + align - 1) / align * align
	}
	note := func(owner, desc string, nameSize, descSize uint32) []byte {
		b := make([]byte, 12)
		l.order.PutUint32(b, nameSize)
		l.order.PutUint32(b[4:], descSize)
		l.order.PutUint32(b[8:], 7)
		b = append(b, owner...)
		start := 12 + size(len(owner))
		if l.gabi {
			start = size(12 + len(owner))
		}
		b = append(b, make([]byte, max(0, start-len(b)))...)
		b = append(b, desc...)
		return append(b, make([]byte, size(len(b))-len(b))...)
	}
	var data []byte
	if l.before {
		data = note("GNU\x00", "abc", 4, 3)
	}
	nameSize, descSize := uint32(len(l.owner)), uint32(len(l.desc))
	if l.nameSize != 0 {
		nameSize = l.nameSize
	}
	if l.descSize != 0 {
		descSize = l.descSize
	}
	data = append(data, note(l.owner, l.desc, nameSize, descSize)...)
	names := "\x00.shstrtab\x00" + l.section + "\x00"

	headerSize := 64
	if l.narrow {
		headerSize = 52
	}
	noteAt := headerSize
	namesAt := noteAt + len(data)
	tableAt := (namesAt + len(names) + 7) / 8 * 8

	var b bytes.Buffer
	put := func(v any) { _ = binary.Write(&b, l.order, v) }
	class, endian := elf.ELFCLASS64, elf.ELFDATA2LSB
	if l.narrow {
		class = elf.ELFCLASS32
	}
	if l.order == binary.BigEndian {
		endian = elf.ELFDATA2MSB
	}
	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(class), byte(endian), 1}
	if l.narrow {
		put(elf.Header32{Ident: ident, Type: uint16(elf.ET_DYN), Machine: uint16(l.machine), Version: 1, Shoff: uint32(tableAt), Ehsize: 52, Shentsize: 40, Shnum: 3, Shstrndx: 2})
	} else {
		put(elf.Header64{Ident: ident, Type: uint16(elf.ET_DYN), Machine: uint16(l.machine), Version: 1, Shoff: uint64(tableAt), Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 2})
	}
	b.Write(data)
	b.WriteString(names)
	b.Write(make([]byte, tableAt-b.Len()))
	for _, s := range []elf.Section64{
		{},
		{Name: 11, Type: uint32(l.kind), Off: uint64(noteAt), Size: uint64(len(data)), Addralign: l.align},
		{Name: 1, Type: uint32(elf.SHT_STRTAB), Off: uint64(namesAt), Size: uint64(len(names)), Addralign: 1},
	} {
		if l.narrow {
			put(elf.Section32{Name: s.Name, Type: s.Type, Off: uint32(s.Off), Size: uint32(s.Size), Addralign: uint32(s.Addralign)})
		} else {
			put(s)
		}
	}
	out := b.Bytes()
	if l.change != nil {
		l.change(out)
	}
	return out
}
