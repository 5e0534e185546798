package driver

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/mounts"
	"github.com/gpu-hook/gpu-hook/mounts/ldcache"
)

// host makes a directory that stands in for a host, from one line for each
// thing in it:
//
//	lib PATH [SONAME] [arm64|32|exec]  a small shared object
//	link PATH TARGET                   a symbolic link
//	file PATH                          a file with a line of text
//	text PATH WORD                     a file with this text
//	empty PATH                         a file of no bytes
//	junk PATH                          a file that is no ELF file
//	dir, fifo, socket PATH
//	cache NAME PATH [32]               an entry of /etc/ld.so.cache
//	nocache                            ... which is to be broken
//	stale                              ... which is to be older than the libraries
//	old                                all made so far is an hour old
func host(t testing.TB, lines string) string {
	t.Helper()
	h := &standIn{t: t, root: t.TempDir()}
	for line := range strings.SplitSeq(lines, "\n") {
		if words := strings.Fields(line); len(words) > 0 {
			h.add(words)
		}
	}
	h.finish()
	return h.root
}

type standIn struct {
	t     testing.TB
	root  string
	cache []ldcache.Entry
	junk  bool
	stale bool
}

func (h *standIn) add(words []string) {
	h.t.Helper()
	kind, rest := words[0], words[1:]
	at := ""
	if len(rest) > 0 && kind != "cache" {
		at = filepath.Join(h.root, rest[0])
		h.must(os.MkdirAll(filepath.Dir(at), 0o755))
	}
	arg := func(i int) string {
		if i < len(rest) {
			return rest[i]
		}
		return ""
	}
	switch kind {
	case "lib":
		name, variant := arg(1), arg(2)
		if variant == "" && (name == "32" || name == "arm64" || name == "exec") {
			name, variant = "", name
		}
		h.must(os.WriteFile(at, sharedObject(name, variant), 0o644))
	case "link":
		h.must(os.Symlink(arg(1), at))
	case "file":
		h.must(os.WriteFile(at, []byte("{}\n"), 0o755)) // fits a list of drivers, too
	case "text":
		h.must(os.WriteFile(at, []byte(arg(1)), 0o644))
	case "empty":
		h.must(os.WriteFile(at, nil, 0o644))
	case "junk":
		h.must(os.WriteFile(at, []byte("no library at all, but long enough to hold a whole ELF header of 64 bytes"), 0o644))
	case "dir":
		h.must(os.MkdirAll(at, 0o755))
	case "fifo":
		h.must(unix.Mkfifo(at, 0o644))
	case "socket":
		h.must(unix.Mknod(at, unix.S_IFSOCK|0o666, 0))
	case "cache":
		flags := int32(0x303)
		if arg(2) == "32" {
			flags = 3
		}
		h.cache = append(h.cache, ldcache.Entry{Name: rest[0], Path: rest[1], Flags: flags})
	case "nocache":
		h.junk = true
	case "stale":
		h.stale = true
	case "old":
		h.age()
	default:
		h.t.Fatalf("read line %q", words)
	}
}

// age puts everything an hour back, so that a cache written now is fresh.
func (h *standIn) age() {
	h.t.Helper()
	then := time.Now().Add(-time.Hour)
	h.must(filepath.WalkDir(h.root, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return unix.Lutimes(p, []unix.Timeval{unix.NsecToTimeval(then.UnixNano()), unix.NsecToTimeval(then.UnixNano())})
	}))
}

func (h *standIn) finish() {
	h.t.Helper()
	if h.cache == nil && !h.junk {
		return
	}
	data := []byte("glibc-ld.so.cache1.1 and then nonsense")
	if !h.junk {
		c := ldcache.New("test")
		c.Merge(h.cache, "/nowhere")
		data = c.Encode()
	}
	h.must(os.MkdirAll(filepath.Join(h.root, "etc"), 0o755))
	file := filepath.Join(h.root, "etc/ld.so.cache")
	h.must(os.WriteFile(file, data, 0o644))
	if h.stale {
		then := time.Now().Add(-time.Hour)
		h.must(os.Chtimes(file, then, then))
	}
}

func (h *standIn) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatalf("make host: %v", err)
	}
}

// open opens a host.
func open(t testing.TB, dir string) *mounts.Root {
	t.Helper()
	r, err := mounts.OpenRoot(dir, mounts.Calls{})
	if err != nil {
		t.Fatalf("open host: %v", err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// sharedObject is the smallest file that has a header, program headers and a
// dynamic section with a SONAME.
func sharedObject(name, variant string) []byte {
	machine, class, kind := elf.EM_X86_64, elf.ELFCLASS64, elf.ET_DYN
	switch variant {
	case "arm64":
		machine = elf.EM_AARCH64
	case "32":
		machine, class = elf.EM_386, elf.ELFCLASS32
	case "exec":
		kind = elf.ET_EXEC
	}
	le := binary.LittleEndian
	header := append([]byte(elf.ELFMAG), byte(class), byte(elf.ELFDATA2LSB), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	header = le.AppendUint16(header, uint16(kind))
	header = le.AppendUint16(header, uint16(machine))
	header = le.AppendUint32(header, 1)
	text := "\x00" + name + "\x00"
	if class == elf.ELFCLASS32 {
		const segments, dynamic, table = 52, 52 + 2*32, 52 + 2*32 + 3*8
		header = le.AppendUint32(header, 0)
		header = le.AppendUint32(header, segments)
		header = le.AppendUint32(header, 0)
		header = le.AppendUint32(header, 0)
		for _, v := range []uint16{52, 32, 2, 0, 0, 0} {
			header = le.AppendUint16(header, v)
		}
		size := uint32(table + len(text))
		for _, v := range []uint32{
			uint32(elf.PT_LOAD), 0, 0x1000, 0x1000, size, size, 5, 0x1000,
			uint32(elf.PT_DYNAMIC), dynamic, 0x1000 + dynamic, 0, 24, 24, 6, 8,
			uint32(elf.DT_STRTAB), 0x1000 + table, soTag(name), 1, 0, 0,
		} {
			header = le.AppendUint32(header, v)
		}
		return append(header, text...)
	}
	const segments, dynamic, table = 64, 64 + 2*56, 64 + 2*56 + 3*16
	for _, v := range []uint64{0, segments, 0} {
		header = le.AppendUint64(header, v)
	}
	header = le.AppendUint32(header, 0)
	for _, v := range []uint16{64, 56, 2, 0, 0, 0} {
		header = le.AppendUint16(header, v)
	}
	size := uint64(table + len(text))
	for _, v := range []uint64{
		uint64(elf.PT_LOAD) | 5<<32, 0, 0x1000, 0x1000, size, size, 0x1000,
		uint64(elf.PT_DYNAMIC) | 6<<32, dynamic, 0x1000 + dynamic, 0, 48, 48, 8,
		uint64(elf.DT_STRTAB), 0x1000 + table, uint64(soTag(name)), 1, 0, 0,
	} {
		header = le.AppendUint64(header, v)
	}
	return append(header, text...)
}

// soTag is DT_SONAME, or for a library without one a tag that nobody reads.
func soTag(name string) uint32 {
	if name == "" {
		return uint32(elf.DT_DEBUG)
	}
	return uint32(elf.DT_SONAME)
}

// driverLines are the lines of a whole driver in one directory: every library
// of the table, with a SONAME as the real ones have it.
func driverLines(dir, version, variant string) string {
	var b strings.Builder
	for _, l := range driverLibraries(version) {
		b.WriteString("lib " + path.Join(dir, l[0]) + " " + l[1] + " " + variant + "\n")
		if l[1] != l[0] && l[1] != "" {
			b.WriteString("link " + path.Join(dir, l[1]) + " " + path.Base(l[0]) + "\n")
		}
	}
	b.WriteString("link " + path.Join(dir, "libcuda.so") + " libcuda.so.1\n")
	return b.String()
}

// cacheLines are the entries that ldconfig would make of driverLines.
func cacheLines(dir, version, variant string) string {
	var b strings.Builder
	for _, l := range driverLibraries(version) {
		if path.Dir(l[0]) == "." {
			b.WriteString("cache " + l[1] + " " + path.Join(dir, l[1]) + " " + variant + "\n")
		}
	}
	return b.String()
}

// driverLibraries are file and SONAME of the libraries of a 535 driver.
func driverLibraries(v string) [][2]string {
	libs := [][2]string{
		{"libnvidia-egl-gbm.so.1.1.0", "libnvidia-egl-gbm.so.1"},
		{"libnvidia-egl-wayland.so.1.1.10", "libnvidia-egl-wayland.so.1"},
		{"libnvidia-api.so.1", "libnvidia-api.so.1"},
		{"vdpau/libvdpau_nvidia.so." + v, "libvdpau_nvidia.so.1"},
	}
	for _, stem := range []string{
		"libnvidia-glcore", "libnvidia-eglcore", "libnvidia-glsi", "libnvidia-glvkspirv", "libnvidia-pkcs11-openssl3", "libnvidia-rtcore", "libnvidia-tls",
	} {
		libs = append(libs, [2]string{stem + ".so." + v, stem + ".so." + v})
	}
	for _, stem := range []string{
		"libcuda", "libcudadebugger", "libGLESv1_CM_nvidia", "libnvcuvid", "libnvidia-fbc", "libnvoptix", "libnvidia-ptxjitcompiler", "libnvidia-cfg",
		"libnvidia-ngx", "libnvidia-ml", "libnvidia-opencl", "libnvidia-encode", "libnvidia-allocator", "libnvidia-opticalflow",
	} {
		libs = append(libs, [2]string{stem + ".so." + v, stem + ".so.1"})
	}
	return append(libs,
		[2]string{"libGLX_nvidia.so." + v, "libGLX_nvidia.so.0"}, [2]string{"libEGL_nvidia.so." + v, "libEGL_nvidia.so.0"},
		[2]string{"libGLESv2_nvidia.so." + v, "libGLESv2_nvidia.so.2"}, [2]string{"libnvidia-nvvm.so." + v, "libnvidia-nvvm.so.4"})
}
