package driver

import (
	"debug/elf"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/mounts"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		host      string
		elsewhere string
		query     Query
		want      error    // of this type, if not nil
		text      []string // parts of text and cure
	}{
		{
			name: "other-version",
			host: "lib /usr/lib64/libcuda.so.550.163.01\n" +
				"link /usr/lib64/libcuda.so.1 libcuda.so.550.163.01\n" +
				"cache libcuda.so.1 /usr/lib64/libcuda.so.1",
			query: query("compute"), want: &MismatchError{}, text: []string{v535, "550.163.01", "/usr/lib64/libcuda.so.550.163.01", "reboot"},
		},
		{
			name: "other-version-without-links", host: "lib /usr/lib64/libcuda.so.550.163.01\nlib /usr/lib64/libcuda.so.470.1.2",
			query: query("compute"), want: &MismatchError{}, text: []string{"470.1.2, 550.163.01"},
		},
		{
			name:  "other-version-of-ml",
			host:  "lib /usr/lib64/libnvidia-ml.so.550.163.01",
			query: query("utility"),
			want:  &MismatchError{},
			text:  []string{"550.163.01"},
		},
		{
			name: "half-updated", host: "lib /usr/lib64/libcuda.so.550.163.01\nlib /usr/lib64/libnvidia-ml.so." + v535,
			query: query("compute", "utility"), want: &MismatchError{}, text: []string{"550.163.01"},
		},
		{
			name: "nothing", host: "dir /usr/lib64\ndir /usr/lib", query: query("compute"), want: &MissingError{},
			text: []string{"libcuda.so." + v535, "/usr/lib64", "/etc/ld.so.cache (there is none)", "driver.library-dirs"},
		},
		{name: "no-directory", query: query("video"), want: &MissingError{}, text: []string{"not there: "}},
		{
			name:  "broken-cache",
			host:  "nocache",
			query: query("compute"),
			want:  &MissingError{},
			text:  []string{"not a loader cache"},
		},
		{
			name:  "empty-file",
			host:  "empty /usr/lib64/libcuda.so." + v535,
			query: query("compute"),
			want:  &MissingError{},
			text:  []string{"empty file"},
		},
		{
			name:  "junk",
			host:  "junk /usr/lib64/libcuda.so." + v535,
			query: query("compute"),
			want:  &MissingError{},
			text:  []string{"not a shared object"},
		},
		{
			name:  "fifo",
			host:  "fifo /usr/lib64/libcuda.so." + v535,
			query: query("compute"),
			want:  &MissingError{},
			text:  []string{"not a regular file"},
		},
		{
			name:  "loop",
			host:  "link /usr/lib64/libcuda.so.1 libcuda.so.1",
			query: query("compute"),
			want:  &MissingError{},
			text:  []string{"too many levels"},
		},
		{
			name:  "32-bit",
			host:  "lib /usr/lib64/libcuda.so." + v535 + " 32",
			query: query("compute"),
			want:  &MissingError{},
			text:  []string{"ELFCLASS32", "386"},
		},
		{
			name:  "other-machine",
			host:  "lib /usr/lib64/libcuda.so." + v535 + " arm64",
			query: query("compute"),
			want:  &MissingError{},
			text:  []string{"AARCH64"},
		},
		{
			name:      "driver-root-wrong",
			host:      "dir /usr",
			elsewhere: "lib /usr/lib64/libcuda.so." + v535,
			query:     query("compute"),
			want:      &MissingError{},
			text:      []string{`set driver.root = "/"`, `driver root "/run/nvidia/driver"`, "/usr/lib64/libcuda.so." + v535},
		},
		{
			name:  "include-pattern",
			query: Query{Version: v535, Machine: elf.EM_X86_64, Include: []string{"lib["}},
			want:  errPattern,
			text:  []string{"lib["},
		},
		{name: "exclude-pattern", query: Query{Version: v535, Machine: elf.EM_X86_64, Exclude: []string{"[]"}}, want: errPattern},
		{name: "capability", query: query("cuda"), text: []string{`"cuda"`, "compute, utility"}},
		{name: "version", query: Query{Version: "../../etc", Machine: elf.EM_X86_64}, text: []string{"../../etc"}},
		{name: "machine", query: Query{Version: v535, Machine: elf.EM_RISCV}, text: []string{"RISCV"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.elsewhere != "" {
				tt.query.Elsewhere = open(t, host(t, tt.elsewhere))
				tt.query.RootPath = "/run/nvidia/driver"
			}
			files, err := Find(open(t, host(t, tt.host)), tt.query)
			if err == nil {
				t.Fatalf("Find: got %+v, want an error", files)
			}
			text := err.Error()
			switch tt.want.(type) { //nolint:errorlint // says which type is wanted
			case *MismatchError:
				e, ok := errors.AsType[*MismatchError](err)
				if !ok {
					t.Fatalf("Find: got %T %v, want *MismatchError", err, err)
				}
				text += e.Cure()
			case *MissingError:
				e, ok := errors.AsType[*MissingError](err)
				if !ok {
					t.Fatalf("Find: got %T %v, want *MissingError", err, err)
				}
				text += e.Cure()
			default:
				if tt.want != nil && !errors.Is(err, tt.want) {
					t.Fatalf("Find: got %v, want %v", err, tt.want)
				}
			}
			for _, part := range tt.text {
				if !strings.Contains(text, part) {
					t.Errorf("Find: got %q, want %q in it", text, part)
				}
			}
		})
	}
}

// TestNothingWithoutCompute: only compute needs libcuda.
func TestNothingWithoutCompute(t *testing.T) {
	t.Parallel()
	for _, caps := range [][]string{{"utility"}, {"graphics"}, {"ngx"}, {"display", "utility"}} {
		files, err := Find(open(t, host(t, "dir /usr/lib64")), query(caps...))
		if err != nil || !hasCode(files, "no-driver-files") || len(files.Libraries) > 0 {
			t.Errorf("Find(%v): got %+v, %v, want a warning no-driver-files", caps, files, err)
		}
	}
}

// TestStable: the same host gives the same answer, in sorted lists.
func TestStable(t *testing.T) {
	t.Parallel()
	dir := host(t, driverLines(ubuntu, v535, "")+"file /usr/bin/nvidia-smi\nfile /usr/share/vulkan/icd.d/nvidia_icd.json")
	caps := []string{"compute", "graphics", "utility", "video", "ngx", "display"}
	first, err := Find(open(t, dir), query(caps...))
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	slices.Reverse(caps)
	second, err := Find(open(t, dir), query(caps...))
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	if diff := cmp.Diff(first, second, cmp.Comparer(func(_, _ *mounts.Root) bool { return true })); diff != "" {
		t.Errorf("second run (-first +second):\n%s", diff)
	}
	if !slices.IsSortedFunc(first.Libraries, func(a, b Library) int { return strings.Compare(path.Base(a.Path), path.Base(b.Path)) }) {
		t.Errorf("libraries are not sorted: %v", paths(first.Libraries))
	}
}
