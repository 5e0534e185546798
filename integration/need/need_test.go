package need

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fake records how a test would have ended.
type fake struct{ skip, fatal string }

func (f *fake) Helper()      {}
func (f *fake) Name() string { return "TestFake" }

func (f *fake) Skipf(format string, args ...any) {
	if f.skip == "" {
		f.skip = fmt.Sprintf(format, args...)
	}
}

func (f *fake) Fatalf(format string, args ...any) {
	if f.fatal == "" {
		f.fatal = fmt.Sprintf(format, args...)
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name, require, word, reason string
		want                        fake
	}{
		{name: "there", word: "root"},
		{name: "missing", word: "root", reason: "runs as user 7", want: fake{skip: "need root: runs as user 7"}},
		{
			name: "required", require: "cgroup1, root", word: "root", reason: "runs as user 7",
			want: fake{fatal: "need root: runs as user 7 (required by GPUHOOK_REQUIRE)"},
		},
		{name: "required and there", require: "root", word: "root"},
		{name: "another required", require: "cgroup1", word: "root", reason: "x", want: fake{skip: "need root: x"}},
		{name: "empty words", require: ",, root ,", word: "gpu", reason: "x", want: fake{skip: "need gpu: x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(RequireVar, tt.require)
			t.Setenv(SkipsVar, "")
			var got fake
			check(&got, tt.word, tt.reason)
			if got.fatal != "" {
				got.skip = ""
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(fake{})); diff != "" {
				t.Errorf("check(%q, %q) (-want +got):\n%s", tt.word, tt.reason, diff)
			}
		})
	}
}

func TestUnknownWordIsFatal(t *testing.T) {
	t.Setenv(RequireVar, "root,cgruop1")
	t.Setenv(SkipsVar, "")
	for _, reason := range []string{"", "missing"} {
		var got fake
		check(&got, "root", reason)
		if !strings.Contains(got.fatal, `["cgruop1"]`) {
			t.Errorf("check with reason %q ended with %q, want a fatal line naming cgruop1", reason, got.fatal)
		}
	}
}

func TestSkipsAreRecorded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "skips")
	t.Setenv(RequireVar, "")
	t.Setenv(SkipsVar, file)
	for range 2 {
		check(&fake{}, "gpu", "no NVIDIA\ndriver is loaded")
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("gpu\tTestFake\tno NVIDIA driver is loaded\n", 2)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("file of skips (-want +got):\n%s", diff)
	}
}

func TestCgroup1Devices(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, mountinfo string
		want            bool
	}{
		{name: "hybrid", mountinfo: "30 28 0:26 / /sys/fs/cgroup/devices rw shared:9 - cgroup cgroup rw,devices\n", want: true},
		{name: "joined", mountinfo: "30 28 0:26 / /sys/fs/cgroup/x rw - cgroup cgroup rw,cpu,devices\n", want: true},
		{name: "v2", mountinfo: "30 28 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"},
		{name: "other controller", mountinfo: "30 28 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"},
		{name: "nonsense", mountinfo: "30 28\n\n - \n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := cgroup1Devices([]byte(tt.mountinfo)); got != tt.want {
				t.Errorf("cgroup1Devices(%q) = %v, want %v", tt.mountinfo, got, tt.want)
			}
		})
	}
}

func TestGPUReason(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got, want := gpuReason(dir), "no NVIDIA driver is loaded"; got != want {
		t.Errorf("gpuReason(empty) = %q, want %q", got, want)
	}
	if err := os.MkdirAll(filepath.Join(dir, "gpus"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, want := gpuReason(dir), "the NVIDIA driver found no GPU"; got != want {
		t.Errorf("gpuReason(no GPU) = %q, want %q", got, want)
	}
}

// TestEveryWordHasAFunction runs all functions on this machine: none may use a
// word that Words does not list.
func TestEveryWordHasAFunction(t *testing.T) {
	t.Setenv(RequireVar, "")
	t.Setenv(SkipsVar, "")
	for _, f := range []func(T){
		Root, MountNS, UserNS, Overlay, Cgroup1, Cgroup2, BPF, Harden, Network, CC, Packages, DriverFiles,
		Busybox, Musl, Emulation, Runc, RuncModule, Crun, SystemdBox, Docker, Podman, Containerd, CRIO, GPU,
	} {
		var got fake
		f(&got)
		if got.fatal != "" {
			t.Errorf("ended with %q", got.fatal)
		}
		t.Logf("%s", got.skip)
	}
}
