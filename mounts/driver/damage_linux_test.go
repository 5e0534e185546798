package driver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/mounts"
)

// fullHost is a Debian-like host with every file of the tables, and a loader
// cache.
func fullHost(t testing.TB) string {
	t.Helper()
	return host(t, driverLines(ubuntu, v535, "")+`
		link /lib usr/lib
		file /usr/bin/nvidia-smi
		file /usr/bin/nvidia-debugdump
		file /usr/bin/nvidia-persistenced
		file /usr/bin/nvidia-cuda-mps-control
		file /usr/sbin/nvidia-cuda-mps-server
		file /etc/OpenCL/vendors/nvidia.icd
		file /usr/share/vulkan/icd.d/nvidia_icd.json
		file /usr/share/vulkan/implicit_layer.d/nvidia_layers.json
		file /usr/share/glvnd/egl_vendor.d/10_nvidia.json
		file /usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json
		file /usr/share/nvidia/nvoptix.bin
		file /usr/share/X11/xorg.conf.d/10-nvidia.conf
		file /usr/lib/xorg/modules/drivers/nvidia_drv.so
		lib /usr/lib/xorg/modules/extensions/libglxserver_nvidia.so.`+v535+`
		file /lib/firmware/nvidia/`+v535+`/gsp_ga10x.bin
		socket /run/nvidia-persistenced/socket
		dir /tmp/nvidia-mps
		old
		`+cacheLines("/lib/x86_64-linux-gnu", v535, ""))
}

// TestOneItemDamaged drops or spoils one thing of a full host at a time, and
// sees success or one named error. Only libcuda may cause the latter, and
// nothing of what is left may change.
func TestOneItemDamaged(t *testing.T) {
	t.Parallel()
	q := query("compute", "utility", "video", "graphics", "display", "ngx")
	whole, err := Find(open(t, fullHost(t)), q)
	if err != nil || len(whole.Warnings) > 0 {
		t.Fatalf("Find on a whole host: %v, warnings %v", err, whole.Warnings)
	}
	for _, damage := range []struct {
		name string
		do   func(path string) error
	}{
		{name: "drop", do: os.RemoveAll},
		{name: "empty", do: replace(func(p string) error { return os.WriteFile(p, nil, 0o644) })},
		{name: "fifo", do: replace(func(p string) error { return unix.Mkfifo(p, 0o644) })},
		{name: "directory", do: replace(func(p string) error { return os.Mkdir(p, 0o755) })},
		{name: "dangling", do: replace(func(p string) error { return os.Symlink("/nowhere", p) })},
		{name: "loop", do: replace(func(p string) error { return os.Symlink(filepath.Base(p), p) })},
		{name: "junk", do: replace(func(p string) error { return os.WriteFile(p, []byte("no library"), 0o644) })},
	} {
		t.Run(damage.name, func(t *testing.T) {
			t.Parallel()
			dir := fullHost(t)
			for _, item := range items(t, dir) {
				spoilt := filepath.Join(dir, item)
				kept := spoilt + ".kept-by-test"
				if err := os.Rename(spoilt, kept); err != nil {
					t.Fatalf("keep %s: %v", item, err)
				}
				if damage.name != "drop" {
					if err := damage.do(spoilt); err != nil {
						t.Fatalf("%s %s: %v", damage.name, item, err)
					}
				}
				root := open(t, dir)
				got, err := Find(root, q)
				judge(t, damage.name, item, whole, got, err)
				root.Close()
				if err := errors.Join(os.RemoveAll(spoilt), os.Rename(kept, spoilt)); err != nil {
					t.Fatalf("restore %s: %v", item, err)
				}
			}
		})
	}
}

// replace removes a thing before another takes its place.
func replace(put func(string) error) func(string) error {
	return func(p string) error {
		if err := os.RemoveAll(p); err != nil {
			return err
		}
		return put(p)
	}
}

// items are all things below a host but directories above others.
func items(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && p != dir && !(d.IsDir() && d.Name() != "nvidia-mps") {
			rel, _ := filepath.Rel(dir, p)
			out = append(out, rel)
		}
		return err
	})
	if err != nil || len(out) < 60 {
		t.Fatalf("list host: %d things, %v", len(out), err)
	}
	return out
}

// judge compares what a damaged host gave with what the whole one did.
func judge(t *testing.T, damage, item string, whole, got Files, err error) {
	t.Helper()
	if err != nil {
		_, missing := errors.AsType[*MissingError](err)
		if !missing || !strings.HasPrefix(filepath.Base(item), "libcuda.so.535") {
			t.Errorf("%s %s: got %T %v, want success", damage, item, err, err)
		}
		return
	}
	for _, l := range got.Libraries {
		if !slices.ContainsFunc(whole.Libraries, func(w Library) bool { return w.Path == l.Path && w.SONAME == l.SONAME }) {
			t.Errorf("%s %s: got %s, which a whole host does not give", damage, item, l.Path)
		}
	}
	if item == "lib" {
		return // a link to all of it
	}
	lost := len(whole.Libraries) - len(got.Libraries) + len(whole.Files) - len(got.Files)
	if lost > 1 || lost < 0 {
		t.Errorf("%s %s: %d files lost, want one at most", damage, item, lost)
	}
	listed := filepath.Dir(item) == ubuntu[1:] || filepath.Base(item) == "nvidia-smi"
	if lost > 0 && listed && len(got.Warnings) == 0 {
		t.Errorf("%s %s: it is lost without a warning", damage, item)
	}
	for _, w := range got.Warnings {
		if w.Code == "" || strings.Contains(w.Message, "\n") {
			t.Errorf("%s %s: got warning %+v", damage, item, w)
		}
	}
}

// TestEndlessFile: a file of great length is not read to its end.
func TestEndlessFile(t *testing.T) {
	t.Parallel()
	dir := host(t, "lib /usr/lib64/libcuda.so."+v535+" libcuda.so.1\nfile /etc/ld.so.cache")
	if err := os.Truncate(dir+"/etc/ld.so.cache", 1<<40); err != nil {
		t.Skipf("make a sparse file: %v", err)
	}
	if err := os.Truncate(dir+"/usr/lib64/libcuda.so."+v535, 1<<40); err != nil {
		t.Fatalf("make a sparse file: %v", err)
	}
	files, err := Find(open(t, dir), query("compute"))
	if err != nil || len(files.Libraries) != 1 {
		t.Errorf("Find: got %v, %v, want libcuda", paths(files.Libraries), err)
	}
	if got := readCache(open(t, dir)); !strings.Contains(got.problem, "more than") {
		t.Errorf("readCache: got %q, want a word on its size", got.problem)
	}
}

// TestEscape: links of a driver root never lead out of it.
func TestEscape(t *testing.T) {
	t.Parallel()
	outside := host(t, "lib /libcuda.so."+v535+" libcuda.so.1")
	dir := host(t, "dir /usr/lib64")
	for _, target := range []string{outside + "/libcuda.so." + v535, "../../../../../../../.." + outside + "/libcuda.so." + v535} {
		link := dir + "/usr/lib64/libcuda.so." + v535
		if err := errors.Join(os.RemoveAll(link), os.Symlink(target, link)); err != nil {
			t.Fatalf("make link: %v", err)
		}
		for _, calls := range []mounts.Calls{{}, {NoOpenat2: true}} {
			root, err := mounts.OpenRoot(dir, calls)
			if err != nil {
				t.Fatalf("open host: %v", err)
			}
			files, err := Find(root, query("compute"))
			if _, ok := errors.AsType[*MissingError](err); !ok {
				t.Errorf("Find with %q: got %v, %v, want *MissingError", target, paths(files.Libraries), err)
			}
			root.Close()
		}
	}
}
