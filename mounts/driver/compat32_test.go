package driver

import (
	"debug/elf"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCompat32Whole: with all 32-bit libraries on the host, each capability
// brings those of its own, beside the 64-bit ones and never instead of them.
func TestCompat32Whole(t *testing.T) {
	t.Parallel()
	const dir32 = "/usr/lib/i386-linux-gnu"
	for _, h := range []struct{ name, host string }{
		{name: "no-cache"},
		{name: "fresh-cache", host: "old\n" + cacheLines(ubuntu, v535, "") + cacheLines(dir32, v535, "32")},
		{name: "cache-of-64-bit-only", host: "old\n" + cacheLines(ubuntu, v535, "")},
	} {
		dir := host(t, driverLines(ubuntu, v535, "")+driverLines(dir32, v535, "32")+h.host)
		for _, tt := range []struct {
			name   string
			caps   []string
			loader bool
			want   []string
		}{
			{name: "utility", caps: []string{"utility", "compat32"}, loader: true, want: []string{"libnvidia-cfg.so.1", "libnvidia-ml.so.1"}},
			{name: "no-loader", caps: []string{"utility", "compat32"}},
			{name: "not-asked-for", caps: []string{"utility"}, loader: true},
			{name: "alone", caps: []string{"compat32"}, loader: true},
			{name: "ngx", caps: []string{"ngx", "compat32"}, loader: true, want: []string{"libnvidia-ngx.so.1"}},
			{
				name: "compute", caps: []string{"compute", "compat32"}, loader: true,
				want: []string{
					"libcuda.so.1", "libcudadebugger.so.1", "libnvidia-allocator.so.1", "libnvidia-nvvm.so.4",
					"libnvidia-opencl.so.1", "libnvidia-pkcs11-openssl3.so." + v535, "libnvidia-ptxjitcompiler.so.1",
				},
			},
		} {
			t.Run(h.name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				q := query(tt.caps...)
				q.Compat32 = tt.loader
				files, err := Find(open(t, dir), q)
				if err != nil {
					t.Fatalf("Find: %v", err)
				}
				var wide, narrow []string
				for _, l := range files.Libraries {
					if l.Class == elf.ELFCLASS32 {
						narrow = append(narrow, l.SONAME)
					} else {
						wide = append(wide, l.SONAME)
					}
				}
				slices.Sort(narrow)
				if diff := cmp.Diff(tt.want, narrow); diff != "" {
					t.Errorf("32-bit SONAMEs (-want +got):\n%s", diff)
				}
				if slices.Sort(wide); tt.want != nil && !slices.Equal(wide, narrow) {
					t.Errorf("64-bit SONAMEs: got %q, want the same as 32-bit, %q", wide, narrow)
				}
			})
		}
	}
}

// TestCompat32OnARM: there is no 32-bit driver, and asking for it is no error.
func TestCompat32OnARM(t *testing.T) {
	t.Parallel()
	q := Query{Version: v535, Capabilities: []string{"compute", "compat32"}, Machine: elf.EM_AARCH64, Compat32: true}
	files, err := Find(open(t, host(t, driverLines("/usr/lib/aarch64-linux-gnu", v535, "arm64"))), q)
	if err != nil || len(files.Libraries) != 7 || len(files.Warnings) > 0 {
		t.Errorf("Find: got %v, %v, %v, want 7 libraries", paths(files.Libraries), files.Warnings, err)
	}
}

// TestIncludedFile: a path in mounts.include may name any file; it goes where
// it was.
func TestIncludedFile(t *testing.T) {
	t.Parallel()
	q := query("utility")
	q.Include = []string{"/usr/share/nvidia/*.ids", "nvoptix.bin"}
	q.Exclude = []string{"secret*"}
	files, err := Find(open(t, host(t, `
		lib /usr/lib64/libnvidia-ml.so.`+v535+` libnvidia-ml.so.1
		file /usr/bin/nvidia-smi
		link /usr/share/nvidia/nvidia.ids real/nvidia.ids
		file /usr/share/nvidia/real/nvidia.ids
		file /usr/share/nvidia/secret.ids
		file /usr/lib64/nvoptix.bin`)), q)
	if err != nil || len(files.Warnings) > 0 {
		t.Fatalf("Find: %v, warnings %v", err, files.Warnings)
	}
	want := map[string]string{
		"/usr/bin/nvidia-smi":          "/usr/bin/nvidia-smi",
		"/usr/lib64/nvoptix.bin":       "/usr/lib64/nvoptix.bin",
		"/usr/share/nvidia/nvidia.ids": "/usr/share/nvidia/real/nvidia.ids",
	}
	if diff := cmp.Diff(want, mapping(files.Files)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
