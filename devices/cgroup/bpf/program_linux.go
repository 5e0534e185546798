package bpf

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrNotDevice says that a program is of another type than cgroup device.
var ErrNotDevice = errors.New("not a device program")

// Program is a loaded program, held by a file descriptor.
type Program struct {
	ID   uint32
	Name string
	Tag  [8]byte // The kernel's hash of the instructions as loaded; equal text, equal tag.

	// Text is the encoded instructions as the kernel gives them back, blinded
	// on a hardened kernel, and nil where it does not give them at all.
	Text []byte

	fd int
}

// Close closes the descriptor. The program lives on while it is attached.
func (p *Program) Close() error {
	if err := unix.Close(p.fd); err != nil {
		return fmt.Errorf("close device program %d: %w", p.ID, err)
	}
	return nil
}

// Open returns the program with an id. A program that is gone gives ENOENT.
func Open(id uint32) (*Program, error) {
	a := struct{ id, next, flags uint32 }{id: id}
	fd, err := call(cmdProgFdByID, unsafe.Pointer(&a), unsafe.Sizeof(a))
	if err != nil {
		return nil, fmt.Errorf("open device program %d: %w", id, err)
	}
	return describe(fd)
}

// progInfo is the start of struct bpf_prog_info, as far as Linux 4.15 had it.
type progInfo struct {
	typ, id    uint32
	tag        [8]byte
	jitedLen   uint32
	xlatedLen  uint32
	jited      unsafe.Pointer
	xlated     unsafe.Pointer
	loadTime   uint64
	uid, nMaps uint32
	maps       unsafe.Pointer
	name       [16]byte
}

// describe reads what the kernel tells of a program, and takes fd over.
func describe(fd int) (*Program, error) {
	for size := uint32(firstDumpSize); ; size = maxDumpSize {
		text := make([]byte, size)
		info := progInfo{xlatedLen: size, xlated: unsafe.Pointer(&text[0])}
		a := struct {
			fd, size uint32
			info     unsafe.Pointer
		}{uint32(fd), uint32(unsafe.Sizeof(info)), unsafe.Pointer(&info)}
		if _, err := call(cmdObjInfo, unsafe.Pointer(&a), unsafe.Sizeof(a)); err != nil {
			_ = unix.Close(fd)
			return nil, fmt.Errorf("describe device program: %w", err)
		}
		if info.typ != progTypeDevice {
			_ = unix.Close(fd)
			return nil, fmt.Errorf("describe program %d: type %d: %w", info.id, info.typ, ErrNotDevice)
		}
		if info.xlatedLen > size && size < maxDumpSize {
			continue
		}
		p := &Program{ID: info.id, Name: string(bytes.TrimRight(info.name[:], "\x00")), Tag: info.tag, fd: fd}
		// The kernel clears the pointer where it keeps the text to itself
		// (bpf_prog_get_info_by_fd in kernel/bpf/syscall.c).
		if info.xlated != nil && info.xlatedLen > 0 && info.xlatedLen <= size {
			p.Text = text[:info.xlatedLen]
		}
		return p, nil
	}
}
