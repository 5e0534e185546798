package driver

import (
	"errors"
	"testing"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		pattern string
		file    string
		want    bool
	}{
		{name: "base-name", pattern: "libcuda.so*", file: "/usr/lib64/libcuda.so.1", want: true},
		{name: "base-name-only", pattern: "lib64", file: "/usr/lib64/libcuda.so.1"},
		{name: "path", pattern: "/usr/lib*/libcuda*", file: "/usr/lib64/libcuda.so.1", want: true},
		{name: "path-of-other-depth", pattern: "/usr/*", file: "/usr/lib64/libcuda.so.1"},
		{name: "class", pattern: "libcuda.so.[0-9]", file: "libcuda.so.1", want: true},
		{name: "all", pattern: "*", file: "/x/y", want: true},
		{name: "empty", pattern: "", file: "/x/y"},
	} {
		if got := matches([]string{"nothing", tt.pattern}, tt.file); got != tt.want {
			t.Errorf("%s: matches(%q, %q): got %v, want %v", tt.name, tt.pattern, tt.file, got, tt.want)
		}
	}
	if matches(nil, "/x") {
		t.Error("matches: no pattern matches, want none")
	}
}

func TestCheckPatterns(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "*", "lib[a-z]*", `lib\[`, "/a/*/b"} {
		if err := checkPatterns(nil, []string{good}); err != nil {
			t.Errorf("checkPatterns(%q): got %v", good, err)
		}
	}
	for _, bad := range []string{"[", "lib[a-", "a[]", `\`} {
		if err := checkPatterns([]string{"*", bad}); !errors.Is(err, errPattern) {
			t.Errorf("checkPatterns(%q): got %v, want %v", bad, err, errPattern)
		}
	}
}

func TestAppendNew(t *testing.T) {
	t.Parallel()
	list := appendNew(appendNew(appendNew(nil, "a"), "b"), "a")
	if len(list) != 2 || list[0] != "a" || list[1] != "b" {
		t.Errorf("appendNew: got %q, want a and b", list)
	}
}

func TestUnique(t *testing.T) {
	t.Parallel()
	got := unique([]int{1, 12, 2, 11, 3}, func(a, b int) bool { return a%10 == b%10 })
	if len(got) != 3 || got[0] != 1 || got[1] != 12 || got[2] != 3 {
		t.Errorf("unique: got %v, want 1 12 3", got)
	}
}
