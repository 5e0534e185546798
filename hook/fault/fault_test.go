package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// curable is an error of another package that knows its cure.
type curable struct {
	text, cure string
	err        error
}

func (c curable) Error() string { return c.text }
func (c curable) Cure() string  { return c.cure }
func (c curable) Unwrap() error { return c.err }

func TestLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"nil", nil, ""},
		{"plain", fs.ErrNotExist, "gpu-hook: file does not exist"},
		{"what-and-why", New(Driver, "read driver", fs.ErrNotExist), "gpu-hook: read driver: file does not exist"},
		{"own-cure", &Error{Driver, "read driver", fs.ErrNotExist, "load it with: modprobe nvidia"}, "gpu-hook: read driver: file does not exist; load it with: modprobe nvidia"},
		{"no-why", &Error{Code: Usage, What: "name a command", Cure: "see gpu-hook help"}, "gpu-hook: name a command; see gpu-hook help"},
		{"no-what", New(Other, "", fs.ErrNotExist), "gpu-hook: file does not exist"},
		{"cure-from-below", New(Driver, "read driver", fmt.Errorf("open module: %w", curable{"none", "load it", nil})), "gpu-hook: read driver: open module: none; load it"},
		{"own-cure-first", &Error{Driver, "read driver", curable{"none", "load it", nil}, "buy one"}, "gpu-hook: read driver: none; buy one"},
		{"empty-cure-passed-over", New(Driver, "read driver", curable{"none", "", curable{"x", "load it", nil}}), "gpu-hook: read driver: none; load it"},
		{"cure-without-fault", curable{"none", "load it", nil}, "gpu-hook: none; load it"},
		{"nested", New(Mount, "inject GPUs", &Error{Node, "make node", fs.ErrPermission, "be root"}), "gpu-hook: inject GPUs: make node: permission denied; be root"},
		{"nested-both-cures", &Error{Mount, "inject GPUs", &Error{Node, "make node", fs.ErrPermission, "be root"}, "try again"}, "gpu-hook: inject GPUs: make node: permission denied; try again"},
		{"wrapped", fmt.Errorf("start: %w", &Error{Node, "make node", fs.ErrPermission, "be root"}), "gpu-hook: start: make node: permission denied; be root"},
		{"joined", New(Mount, "mount", errors.Join(fs.ErrExist, curable{"two", "remove it", nil})), `gpu-hook: mount: file already exists\ntwo; remove it`},
		{"control-characters", New(State, "read state", errors.New("a\nb\x1b[2J\r\x00\x7f")), `gpu-hook: read state: a\nb\x1b[2J\r\x00\x7f`},
		{"in-the-cure", &Error{State, "x", nil, "a\nb"}, `gpu-hook: x; a\nb`},
		{"direction-marks", New(State, "x", errors.New("a\u202eb\u2028c\u200bd\ufeff")), `gpu-hook: x: a\u202eb\u2028c\u200bd\ufeff`},
		{"c1-controls", New(State, "x", errors.New("a\u009bb")), `gpu-hook: x: a\u009bb`},
		{"not-utf8", New(State, "x", errors.New("a\xff\xc3(")), `gpu-hook: x: a\xff\xc3(`},
		{"letters-stay", New(State, "x", errors.New("größe 大 “q” \ufffd")), "gpu-hook: x: größe 大 “q” \ufffd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Line(tt.err)); diff != "" {
				t.Errorf("Line (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLineIsCut(t *testing.T) {
	t.Parallel()
	const cure = "remove the file"
	for _, text := range []string{strings.Repeat("x", 5000), strings.Repeat("ß", 5000), strings.Repeat("\x00", 5000), strings.Repeat("\xff", 5000)} {
		line := Line(&Error{Mount, "mount " + text, errors.New(text), cure})
		if len(line) > maxLine || !strings.HasPrefix(line, "gpu-hook: mount ") || !strings.HasSuffix(line, "...; "+cure) || !utf8.ValidString(line) {
			t.Errorf("Line is %d bytes: %q", len(line), line)
		}
		if line := Line(&Error{Mount, "mount", nil, text}); len(line) > maxLine || !strings.HasPrefix(line, "gpu-hook: mount; ") {
			t.Errorf("Line is %d bytes: %q", len(line), line)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	err := &Error{Node, "make node", fs.ErrPermission, "be root"}
	if got, want := err.Error(), "make node: permission denied; be root"; got != want {
		t.Errorf("Error = %q, want %q", got, want)
	}
	if !errors.Is(fmt.Errorf("x: %w", err), fs.ErrPermission) {
		t.Error("the reason cannot be found in the chain")
	}
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	inner := New(Node, "make node", fs.ErrPermission)
	tests := []struct {
		name string
		err  error
		want Code
	}{
		{"nil", nil, 0},
		{"plain", fs.ErrPermission, 1},
		{"fault", inner, 15},
		{"wrapped", fmt.Errorf("x: %w", inner), 15},
		{"outermost", New(Mount, "mount", inner), 17},
		{"joined", errors.Join(fs.ErrExist, inner), 15},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := CodeOf(tt.err); got != tt.want {
				t.Errorf("CodeOf = %d, want %d", got, tt.want)
			}
		})
	}
}

// The numbers are what scripts and engines see: they never change.
func TestCodes(t *testing.T) {
	t.Parallel()
	want := []Code{0, 1, 2, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	got := []Code{Done, Other, Usage, State, Request, Driver, Mismatch, Incompatible, Node, Cgroup, Mount, Path, Config}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("read state", "invalid character 'x'", "do it")
	f.Add("\x1b[2J", "\xff\n", "")
	f.Add("", "", "")
	f.Add(strings.Repeat("大", 400), "", strings.Repeat("\u202e", 200))
	f.Fuzz(func(t *testing.T, what, why, cure string) {
		line := Line(&Error{Other, what, errors.New(why), cure})
		if len(line) > maxLine || !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }) {
			t.Errorf("Line = %q (%d bytes)", line, len(line))
		}
		if !strings.HasPrefix(line, prefix) {
			t.Errorf("Line = %q without its prefix", line)
		}
	})
}
