package driver

import (
	"debug/elf"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/mounts"
)

const ubuntu = "/usr/lib/x86_64-linux-gnu"

// benchHost is a host of usual size: 3,000 other libraries in the same
// directory and 1,000 in the loader cache.
func benchHost(b *testing.B) string {
	var s strings.Builder
	s.WriteString("link /lib usr/lib\n")
	for i := range 3000 {
		fmt.Fprintf(&s, "text %s/libother%d.so.1.%d x\n", ubuntu, i, i%7)
	}
	s.WriteString(driverLines(ubuntu, "535.309.01", ""))
	for _, n := range []string{"nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"} {
		s.WriteString("file /usr/bin/" + n + "\n")
	}
	s.WriteString("dir /usr/sbin\nlink /bin usr/bin\nlink /sbin usr/sbin\ndir /usr/local/bin\ntext /etc/OpenCL/vendors/nvidia.icd libnvidia-opencl.so.1\nold\n")
	for i := range 1000 {
		fmt.Fprintf(&s, "cache libother%d.so.1 /lib/x86_64-linux-gnu/libother%d.so.1\n", i, i)
	}
	s.WriteString(cacheLines("/lib/x86_64-linux-gnu", "535.309.01", ""))
	return host(b, s.String())
}

func BenchmarkFind(b *testing.B) {
	dir := benchHost(b)
	for _, bb := range []struct {
		name string
		caps []string
		prep func()
	}{
		{name: "compute,utility,video", caps: []string{"compute", "utility", "video"}},
		{name: "all", caps: []string{"compute", "utility", "video", "graphics", "display", "ngx"}},
		{name: "no-cache", caps: []string{"compute", "utility", "video"}, prep: func() { os.Remove(dir + "/etc/ld.so.cache") }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			if bb.prep != nil {
				bb.prep()
			}
			n, before := 0, cpuTime(b)
			for b.Loop() {
				r, err := mounts.OpenRoot(dir, mounts.Calls{})
				if err != nil {
					b.Fatal(err)
				}
				files, err := Find(r, Query{Version: "535.309.01", Capabilities: bb.caps, Machine: elf.EM_X86_64})
				if err != nil {
					b.Fatal(err)
				}
				n = len(files.Libraries) + len(files.Files)
				r.Close()
			}
			b.ReportMetric(float64(n), "files")
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpuTime is what this process has used, in ns: the figure to compare on a
// machine that does other work, too.
func cpuTime(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkELF(b *testing.B) {
	dir := host(b, "lib /libcuda.so.1 libcuda.so.1")
	t := newTree(open(b, dir))
	f, err := t.regular(t.dir("/"), "libcuda.so.1")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, name, err := t.object(f, true); err != nil || name != "libcuda.so.1" {
			b.Fatal(name, err)
		}
	}
}
