package driver

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadELF(t *testing.T) {
	t.Parallel()
	patch := func(name, variant string, at int, with ...byte) []byte {
		b := sharedObject(name, variant)
		copy(b[at:], with)
		return b
	}
	for _, tt := range []struct {
		name    string
		data    []byte
		object  object
		soname  string
		headErr bool
		nameErr bool
	}{
		{
			name:   "64",
			data:   sharedObject("libcuda.so.1", ""),
			object: object{elf.ELFCLASS64, elf.EM_X86_64},
			soname: "libcuda.so.1",
		},
		{
			name:   "32",
			data:   sharedObject("libcuda.so.1", "32"),
			object: object{elf.ELFCLASS32, elf.EM_386},
			soname: "libcuda.so.1",
		},
		{
			name:   "arm64",
			data:   sharedObject("libcuda.so.1", "arm64"),
			object: object{elf.ELFCLASS64, elf.EM_AARCH64},
			soname: "libcuda.so.1",
		},
		{name: "no-soname", data: sharedObject("", ""), object: object{elf.ELFCLASS64, elf.EM_X86_64}},
		{name: "executable", data: sharedObject("x", "exec"), headErr: true},
		{name: "empty", headErr: true},
		{name: "short", data: sharedObject("x", "")[:40], headErr: true},
		{name: "big-endian", data: patch("x", "", elf.EI_DATA, byte(elf.ELFDATA2MSB)), headErr: true},
		{name: "class-3", data: patch("x", "", elf.EI_CLASS, 3), headErr: true},
		{name: "no-segments", data: patch("x", "", 56, 0, 0), object: object{elf.ELFCLASS64, elf.EM_X86_64}},
		{
			name:    "many-segments",
			data:    patch("x", "", 56, 0xff, 0xff),
			object:  object{elf.ELFCLASS64, elf.EM_X86_64},
			nameErr: true,
		},
		{name: "segment-size", data: patch("x", "", 54, 1), object: object{elf.ELFCLASS64, elf.EM_X86_64}, nameErr: true},
		{
			name:    "segments-outside",
			data:    patch("x", "", 32, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
			object:  object{elf.ELFCLASS64, elf.EM_X86_64},
			nameErr: true,
		},
		{
			name:    "dynamic-outside",
			data:    patch("x", "", 64+56+8, 0xff, 0xff),
			object:  object{elf.ELFCLASS64, elf.EM_X86_64},
			nameErr: true,
		},
		{
			name:    "dynamic-huge",
			data:    patch("x", "", 64+56+32, 0xff, 0xff, 0xff, 0xff),
			object:  object{elf.ELFCLASS64, elf.EM_X86_64},
			nameErr: true,
		},
		{
			name:    "table-outside",
			data:    patch("x", "", 64+112+8, 0xff, 0xff, 0xff),
			object:  object{elf.ELFCLASS64, elf.EM_X86_64},
			nameErr: true,
		},
		{
			name:    "name-outside",
			data:    patch("x", "", 64+112+24, 0xff, 0xff, 0xff),
			object:  object{elf.ELFCLASS64, elf.EM_X86_64},
			nameErr: true,
		},
		{
			name:    "name-unended",
			data:    bytes.TrimRight(sharedObject("libx.so", ""), "\x00"),
			object:  object{elf.ELFCLASS64, elf.EM_X86_64},
			nameErr: true,
		},
		{
			name:    "name-endless",
			data:    sharedObject(strings.Repeat("x", 300), ""),
			object:  object{elf.ELFCLASS64, elf.EM_X86_64},
			nameErr: true,
		},
		{
			name:    "name-with-slash",
			data:    sharedObject("../libcuda.so.1", ""),
			object:  object{elf.ELFCLASS64, elf.EM_X86_64},
			nameErr: true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, err := readHeader(bytes.NewReader(tt.data))
			if (err != nil) != tt.headErr {
				t.Fatalf("readHeader: got %v, want an error: %v", err, tt.headErr)
			}
			if err != nil {
				if !errors.Is(err, errNotELF) {
					t.Errorf("readHeader: got %v, want %v", err, errNotELF)
				}
				return
			}
			if h.object != tt.object {
				t.Errorf("readHeader: got %v, want %v", h.object, tt.object)
			}
			name, err := readSONAME(bytes.NewReader(tt.data), h)
			if (err != nil) != tt.nameErr || name != tt.soname {
				t.Errorf("readSONAME: got %q, %v, want %q, an error: %v", name, err, tt.soname, tt.nameErr)
			}
		})
	}
}

// TestReadELFAgrees compares with debug/elf on this machine's own libraries.
func TestReadELFAgrees(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, dir := range []string{"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if compared >= 100 || !e.Type().IsRegular() || !strings.Contains(e.Name(), ".so") {
				continue
			}
			f, err := os.Open(dir + "/" + e.Name())
			if err != nil {
				continue
			}
			std, err := elf.NewFile(f)
			if err == nil && std.Type == elf.ET_DYN {
				want, _ := std.DynString(elf.DT_SONAME)
				h, err := readHeader(f)
				if err != nil || h.machine != std.Machine || h.class != std.Class {
					t.Errorf("readHeader(%s): got %v, %v, want %v %v", e.Name(), h.object, err, std.Machine, std.Class)
				}
				got, err := readSONAME(f, h)
				if diff := cmp.Diff(strings.Join(want, ""), got); err != nil || diff != "" {
					t.Errorf("readSONAME(%s): %v (-want +got):\n%s", e.Name(), err, diff)
				}
				compared++
			}
			f.Close()
		}
	}
	t.Logf("%d libraries compared", compared)
}

func FuzzELF(f *testing.F) {
	f.Add(sharedObject("libcuda.so.1", ""))
	f.Add(sharedObject("libcuda.so.1", "32"))
	f.Add(sharedObject("", "arm64"))
	f.Add([]byte(elf.ELFMAG))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		h, err := readHeader(r)
		if err != nil {
			if h != (header{}) {
				t.Errorf("readHeader: got %v with an error", h)
			}
			return
		}
		name, err := readSONAME(r, h)
		if err != nil && name != "" {
			t.Errorf("readSONAME: got %q with an error", name)
		}
		if len(name) > maxSONAME || strings.ContainsAny(name, "/\x00") {
			t.Errorf("readSONAME: got %q", name)
		}
	})
}
