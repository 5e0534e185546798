package driver

import (
	"path"
	"strings"
	"testing"
)

func TestSplitName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		stem, suffix string
		want         bool
	}{
		{name: "libcuda.so.535.309.01", stem: "libcuda", suffix: "535.309.01", want: true},
		{name: "libcuda.so.1", stem: "libcuda", suffix: "1", want: true},
		{name: "libcuda.so", stem: "libcuda", want: true},
		{name: "libnvidia-egl-gbm.so.1.1.0", stem: "libnvidia-egl-gbm", suffix: "1.1.0", want: true},
		{name: "libx.sources.so.1", stem: "libx.sources", suffix: "1", want: true},
		{name: "libcuda.so."},
		{name: "lib.so"},
		{name: "libcuda.a"},
		{name: "nvidia_drv.so"},
		{name: "libcuda.sox"},
		{name: ""},
	} {
		stem, suffix, ok := splitName(tt.name)
		if stem != tt.stem || suffix != tt.suffix || ok != tt.want {
			t.Errorf("splitName(%q): got %q, %q, %v, want %q, %q, %v", tt.name, stem, suffix, ok, tt.stem, tt.suffix, tt.want)
		}
	}
}

func TestDriverLike(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		want bool
	}{
		{name: "535.309.01", want: true},
		{name: "450.51", want: true},
		{name: "1000.1", want: true},
		{name: "1"},
		{name: "1.1.10"},
		{name: "4"},
		{name: "535"},
		{name: "1.535.1"},
		{name: "535.x"},
		{name: "535.1/.."},
		{name: ""},
	} {
		if got := driverLike(tt.name); got != tt.want {
			t.Errorf("driverLike(%q): got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestLibraryTable holds what the search takes for granted.
func TestLibraryTable(t *testing.T) {
	t.Parallel()
	requiredRows := 0
	for i, row := range libraries {
		if i > 0 && libraries[i-1].stem >= row.stem {
			t.Errorf("row %q is out of order", row.stem)
		}
		if row.caps == 0 {
			t.Errorf("row %q has no capability", row.stem)
		}
		if !maybeDriver(row.prefix()+".so.1", v535) {
			t.Errorf("row %q is not seen in a loader cache", row.stem)
		}
		if neutral(row.prefix()) {
			t.Errorf("row %q is vendor-neutral", row.stem)
		}
		if got := rowOf(row.prefix()); got == nil || got.stem != row.stem {
			t.Errorf("rowOf(%q): got %v", row.prefix(), got)
		}
		if row.need == required {
			requiredRows++
		}
	}
	if requiredRows != 1 || rowOf("libcuda").need != required {
		t.Errorf("got %d required rows, want libcuda alone", requiredRows)
	}
	for _, stem := range []string{"libnvidia-brandnew", "libc", "libcudart", "libnvidia"} {
		if got := rowOf(stem); got != nil {
			t.Errorf("rowOf(%q): got %q, want none", stem, got.stem)
		}
	}
}

// TestFileTable holds the same for the other files.
func TestFileTable(t *testing.T) {
	t.Parallel()
	for _, row := range fileRows {
		if row.caps == 0 || len(row.names) == 0 || len(row.in) == 0 || row.kind == "" {
			t.Errorf("row %q is incomplete", row.names)
		}
		if row.need == required {
			t.Errorf("row %q is required: no file but libcuda may be", row.names)
		}
		for _, d := range append(append([]string{}, row.in...), row.to) {
			if d != "" && !strings.HasPrefix(d, "{") && (!path.IsAbs(d) || path.Clean(d) != d) {
				t.Errorf("row %q: %q is not a clean absolute path", row.names, d)
			}
		}
	}
	for _, place := range append(append([]string{}, places64[:]...), places32[:]...) {
		if got := machines[0].words(v535).fill(place); strings.Contains(got, "{") || !path.IsAbs(got) || path.Clean(got) != got {
			t.Errorf("place %q: got %q", place, got)
		}
	}
}

func TestCapabilityNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		want capSet
	}{
		{name: "utility", want: utility},
		{name: "compute", want: compute},
		{name: "video", want: video | compute},
		{name: "graphics", want: graphics},
		{name: "display", want: display | graphics},
		{name: "ngx", want: ngx},
		{name: "compat32", want: compat32},
	} {
		if got, err := parseCapabilities([]string{tt.name}); err != nil || got != tt.want {
			t.Errorf("parseCapabilities(%q): got %b, %v, want %b", tt.name, got, err, tt.want)
		}
	}
	for _, bad := range []string{"", "all", "Compute", "compute "} {
		if got, err := parseCapabilities([]string{bad}); err == nil {
			t.Errorf("parseCapabilities(%q): got %b, want an error", bad, got)
		}
	}
}
