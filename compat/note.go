package compat

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// noteSection and noteOwner are the names of the section and of the note in
// it. Source: the libcuda of the packages cuda-compat-12-9 and -13-1, and the
// hook enable-cuda-compat of the NVIDIA Container Toolkit, which reads it.
const (
	noteSection = ".note.cuda.fwd_compatibility"
	noteOwner   = "NVIDIA Corporation"
)

// maxNoteList is the longest list taken from a note; real ones have up to 14.
const maxNoteList = 256

// ErrNoNote means that a library has no note on forward compatibility.
var ErrNoNote = errors.New("no forward-compatibility note")

// Note is what the libcuda of a cuda-compat package says about itself, in its
// section .note.cuda.fwd_compatibility.
type Note struct {
	// CUDA is the version that the library supports; 0 if it does not say.
	CUDA CUDA
	// Drivers are the branches of the host drivers that it works with. A
	// package for Jetson boards names none.
	Drivers []int
	// Devices are numbers of GPU families; nobody evaluates them yet.
	Devices []int
}

// ParseNote reads the note of a libcuda of size bytes. The error is [ErrNoNote]
// where a readable library has none; for a file that is no shared library or
// has a damaged note it is another one.
func ParseNote(library io.ReaderAt, size int64) (*Note, error) {
	img, header, err := openImage(library, size)
	if err != nil {
		return nil, fmt.Errorf("read note: %w", err)
	}
	return img.note(header)
}

func (img image) note(header []byte) (*Note, error) {
	sections, names, err := img.sections(header)
	if err != nil {
		return nil, fmt.Errorf("read note: %w", err)
	}
	for _, s := range sections {
		if elf.SectionType(s.kind) != elf.SHT_NOTE || !named(names, s.name) {
			continue
		}
		data, err := img.bytes(s.offset, s.size, maxNoteSection)
		if err != nil {
			return nil, fmt.Errorf("read note: %w", err)
		}
		text, err := img.description(data, s.align)
		if err != nil {
			return nil, fmt.Errorf("read note: %w", err)
		}
		return decodeNote(text)
	}
	return nil, ErrNoNote
}

func named(names []byte, offset uint32) bool {
	if uint64(offset) >= uint64(len(names)) {
		return false
	}
	name, _, ok := bytes.Cut(names[offset:], []byte{0})
	return ok && string(name) == noteSection
}

// description returns the content of the first note with NVIDIA's name. Sizes
// are padded to the section's alignment. The toolkit pads the name by itself,
// the ELF specification pads header and name together; with 8 bytes the two
// differ, so where the first does not lead to JSON the second is taken.
func (img image) description(data []byte, align uint64) ([]byte, error) {
	const headerSize = 12
	if align != 8 {
		align = 4
	}
	pad := func(n uint64) uint64 { return (n + align - 1) / align * align }
	for len(data) >= headerSize {
		nameSize := uint64(img.order.Uint32(data))
		size := uint64(img.order.Uint32(data[4:]))
		length := uint64(len(data))
		starts := [2]uint64{headerSize + pad(nameSize), pad(headerSize + nameSize)}
		if starts[1] > length || size > length-starts[1] {
			return nil, fmt.Errorf("lengths %d and %d exceed the section's %d bytes", nameSize, size, length)
		}
		if string(bytes.TrimRight(data[headerSize:headerSize+nameSize], "\x00")) == noteOwner {
			for _, start := range starts {
				if size > 0 && start < length && size <= length-start && data[start] == '{' {
					return data[start : start+size], nil
				}
			}
			return nil, errors.New("content is not JSON")
		}
		next := pad(starts[1] + size)
		if next >= length {
			break
		}
		data = data[next:]
	}
	return nil, ErrNoNote
}

// decodeNote reads the note's JSON. Real packages write the keys in lower case
// and end the text with a NUL; encoding/json takes keys in any case.
func decodeNote(text []byte) (*Note, error) {
	var raw struct {
		Format int    `json:"format"`
		CUDA   string `json:"CUDA version"`
		Driver []int  `json:"driver"`
		Device []int  `json:"device"`
	}
	if err := json.Unmarshal(bytes.TrimRight(text, "\x00"), &raw); err != nil {
		return nil, fmt.Errorf("read note: %w", err)
	}
	if raw.Format < 0 || raw.Format > 1 {
		return nil, fmt.Errorf("read note: format %d is not known", raw.Format)
	}
	if len(raw.Driver) > maxNoteList || len(raw.Device) > maxNoteList {
		return nil, fmt.Errorf("read note: more than %d entries in a list", maxNoteList)
	}
	note := &Note{Drivers: raw.Driver, Devices: raw.Device}
	if raw.CUDA != "" {
		version, err := ParseCUDA(raw.CUDA)
		if err != nil {
			return nil, fmt.Errorf("read note: %w", err)
		}
		note.CUDA = version
	}
	return note, nil
}
