package loader

import (
	"os"
	"slices"
	"testing"
)

// TestApplyLeavesCaches has caches that are better left alone; what ldconfig
// goes by is written all the same.
func TestApplyLeavesCaches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(file string) error
		want  string
	}{
		{name: "damaged", want: "loader-cache-damaged", spoil: func(file string) error {
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			return os.Truncate(file, info.Size()-50) // into the strings
		}},
		{name: "too large", want: "loader-cache-too-large", spoil: func(file string) error { return os.Truncate(file, MaxCache+1) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			top := plant(t, "elf lib64/libc.so.6 x86-64")
			plantCache(t, top, "/lib64/libc.so.6", "/lib64/libz.so.1", "/lib64/libm.so.6")
			if err := tt.spoil(top + cachePath); err != nil {
				t.Fatal(err)
			}
			r := openRoot(t, top)
			before := snapshot(t, top)[top+cachePath]
			f := inspect(t, r)
			warnings, err := ourUpdate().Apply(r, f)
			if err != nil || !slices.Equal(codes(warnings), []string{tt.want}) || f.Action() != "leave" {
				t.Errorf("Apply() = %v, %v, Action() = %q", warnings, err, f.Action())
			}
			if after := snapshot(t, top)[top+cachePath]; after != before {
				t.Errorf("the cache was %s, is %s", before, after)
			}
			checkConf(t, top, includeLine+"\n")
		})
	}
}
