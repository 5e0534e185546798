package compat

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseNote(t *testing.T) {
	t.Parallel()
	fixture := &Note{CUDA: 12090, Drivers: []int{535, 550, 560, 565, 570, 575}, Devices: []int{1, 2, 7, 8, 9, 10, 11, 12, 13, 14}}
	short := &Note{CUDA: 12090, Drivers: []int{535}}
	for _, tt := range []struct {
		name   string
		desc   string
		change func(*library)
		want   *Note // nil: an error
		none   bool  // the error is ErrNoNote
	}{
		{name: "fixture-12.9", desc: fixtureNote, want: fixture},
		{name: "fixture-13.1", desc: `{"format":1,"CUDA version":"13.1","driver":[535,550,570,575,580,590],"device":[1]}` + "\x00", want: &Note{CUDA: 13010, Drivers: []int{535, 550, 570, 575, 580, 590}, Devices: []int{1}}},
		{name: "fixture-orin", desc: `{"format":1,"CUDA version":"13.2"}` + "\x00", want: &Note{CUDA: 13020}},
		{name: "32-bit", desc: fixtureNote, change: func(l *library) { l.narrow, l.machine = true, elf.EM_386 }, want: fixture},
		{name: "big-endian", desc: fixtureNote, change: func(l *library) { l.order = binary.BigEndian }, want: fixture},
		{name: "big-endian-32", desc: fixtureNote, change: func(l *library) { l.order, l.narrow = binary.BigEndian, true }, want: fixture},
		{name: "align-8-toolkit", desc: fixtureNote, change: func(l *library) { l.align = 8 }, want: fixture},
		{name: "align-8-gabi", desc: fixtureNote, change: func(l *library) { l.align, l.gabi = 8, true }, want: fixture},
		{name: "align-1", desc: fixtureNote, change: func(l *library) { l.align = 1 }, want: fixture},
		{name: "align-0", desc: fixtureNote, change: func(l *library) { l.align = 0 }, want: fixture},
		{name: "align-huge", desc: fixtureNote, change: func(l *library) { l.align = 1 << 63 }, want: fixture},
		{name: "owner-without-nul", desc: fixtureNote, change: func(l *library) { l.owner = noteOwner }, want: fixture},
		{name: "second-note", desc: fixtureNote, change: func(l *library) { l.before = true }, want: fixture},
		{name: "no-nul", desc: `{"CUDA version":"12.9","driver":[535]}`, want: short},
		{name: "many-nuls", desc: `{"CUDA version":"12.9","driver":[535]}` + strings.Repeat("\x00", 40), want: short},
		{name: "upper-case", desc: `{"FORMAT":1,"cuda VERSION":"12.9","Driver":[535]}`, want: short},
		{name: "unknown-keys", desc: `{"CUDA version":"12.9","driver":[535],"more":{"a":[1]}}`, want: short},
		{name: "empty-object", desc: `{}`, want: &Note{}},

		{name: "other-section", desc: fixtureNote, change: func(l *library) { l.section = ".note.gnu.build-id" }, none: true},
		{name: "longer-name", desc: fixtureNote, change: func(l *library) { l.section += "x" }, none: true},
		{name: "not-a-note", desc: fixtureNote, change: func(l *library) { l.kind = elf.SHT_PROGBITS }, none: true},
		{name: "other-owner", desc: fixtureNote, change: func(l *library) { l.owner = "GNU\x00" }, none: true},
		{name: "empty", desc: ""},
		{name: "not-json", desc: "driver 535"},
		{name: "truncated-json", desc: `{"driver":[535`},
		{name: "nul-inside", desc: "{\"driver\":[535]\x00}"},
		{name: "wrong-type", desc: `{"driver":"535"}`},
		{name: "fraction", desc: `{"driver":[535.5]}`},
		{name: "format-2", desc: `{"format":2,"driver":[535]}`},
		{name: "bad-cuda", desc: `{"CUDA version":"twelve"}`},
		{name: "long-list", desc: `{"driver":[` + strings.Repeat("1,", maxNoteList) + `1]}`},
		{name: "desc-too-long", desc: fixtureNote, change: func(l *library) { l.descSize = 1 << 20 }},
		{name: "desc-maximum", desc: fixtureNote, change: func(l *library) { l.descSize = 1<<32 - 1 }},
		{name: "name-too-long", desc: fixtureNote, change: func(l *library) { l.nameSize = 1 << 20 }},
		{name: "name-maximum", desc: fixtureNote, change: func(l *library) { l.nameSize = 1<<32 - 1 }},
		{name: "desc-too-short", desc: fixtureNote, change: func(l *library) { l.descSize = 10 }},

		{name: "not-elf", desc: fixtureNote, change: patch(0, 'X')},
		{name: "class-0", desc: fixtureNote, change: patch(elf.EI_CLASS, 0)},
		{name: "data-3", desc: fixtureNote, change: patch(elf.EI_DATA, 3)},
		{name: "executable", desc: fixtureNote, change: patch(16, byte(elf.ET_EXEC))},
		{name: "no-sections", desc: fixtureNote, change: patch(60, 0), none: true},
		{name: "sections-outside", desc: fixtureNote, change: patch(44, 0x7f)},
		{name: "section-size", desc: fixtureNote, change: patch(58, 40)},
		{name: "many-sections", desc: fixtureNote, change: patch(61, 0xff)},
		{name: "names-outside", desc: fixtureNote, change: patch(62, 9)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := plainLibrary(tt.desc)
			if tt.change != nil {
				tt.change(&l)
			}
			data := l.build()
			got, err := ParseNote(bytes.NewReader(data), int64(len(data)))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ParseNote() error %v (-want +got):\n%s", err, diff)
			}
			if (err == nil) != (tt.want != nil) || errors.Is(err, ErrNoNote) != tt.none {
				t.Errorf("ParseNote() error = %v, want ErrNoNote: %t", err, tt.none)
			}
		})
	}
}

func patch(at int, value byte) func(*library) {
	return func(l *library) { l.change = func(b []byte) { b[at] = value } }
}

// A file cut off anywhere gives an error or the note, nothing else.
func TestParseNoteTruncated(t *testing.T) {
	t.Parallel()
	data := plainLibrary(fixtureNote).build()
	for n := range len(data) {
		if note, err := ParseNote(bytes.NewReader(data[:n]), int64(n)); err == nil {
			t.Errorf("ParseNote() of the first %d of %d bytes = %v", n, len(data), note)
		}
	}
}

// The size given is believed no further than the file goes.
func TestParseNoteWrongSize(t *testing.T) {
	t.Parallel()
	data := plainLibrary(fixtureNote).build()
	if _, err := ParseNote(bytes.NewReader(data[:100]), 1<<40); err == nil {
		t.Error("ParseNote() of a file shorter than its size gave no error")
	}
	if _, err := ParseNote(failing{}, 1<<20); !errors.Is(err, errBroken) {
		t.Errorf("ParseNote() of an unreadable file = %v, want %v", err, errBroken)
	}
}

var errBroken = errors.New("broken disk")

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, errBroken }

// counting counts the bytes read of a library.
type counting struct {
	io.ReaderAt
	read int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.read += len(p)
	return c.ReaderAt.ReadAt(p, off)
}

func TestParseNoteReadsLittle(t *testing.T) {
	t.Parallel()
	l := plainLibrary(fixtureNote)
	data := append(l.build(), make([]byte, 4<<20)...)
	file := &counting{ReaderAt: bytes.NewReader(data)}
	if _, err := ParseNote(file, int64(len(data))); err != nil {
		t.Fatal(err)
	}
	if file.read > 1024 {
		t.Errorf("%d bytes read of a file of %d", file.read, len(data))
	}
}

func FuzzParseNote(f *testing.F) {
	f.Add(plainLibrary(fixtureNote).build())
	for _, change := range []func(*library){
		func(l *library) { l.narrow = true },
		func(l *library) { l.order = binary.BigEndian },
		func(l *library) { l.align, l.before = 8, true },
		func(l *library) { l.descSize = 1<<32 - 1 },
		func(l *library) { l.nameSize = 1<<32 - 4 },
	} {
		l := plainLibrary(fixtureNote)
		change(&l)
		f.Add(l.build())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		note, err := ParseNote(bytes.NewReader(data), int64(len(data)))
		if (note == nil) != (err != nil) {
			t.Fatalf("ParseNote() = %v, %v", note, err)
		}
	})
}

func FuzzNoteJSON(f *testing.F) {
	for _, seed := range []string{fixtureNote, `{}`, `{"driver":[1e9]}`, `{"CUDA version":"x"}`, `[`, "\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		note, err := decodeNote(data)
		if (note == nil) != (err != nil) || note != nil && (len(note.Drivers) > maxNoteList || note.CUDA.Open()) {
			t.Fatalf("decodeNote(%q) = %v, %v", data, note, err)
		}
	})
}
