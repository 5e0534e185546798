package lab

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// Toolkit puts the CUDA runtime library of a version (see [Cudart]) into a root
// as NVIDIA's images have it: in /usr/local/cuda-VERSION, with /usr/local/cuda
// as a link to it unless there is one, and known to the loader beside the driver's usual directories.
func Toolkit(t T, root, version string) {
	t.Helper()
	kit := filepath.Join(root, "usr/local/cuda-"+version)
	mkdir(t, kit, "lib64")
	copyLibraries(t, Cudart(t, version), filepath.Join(kit, "lib64"), "libcudart.so.")
	if link := filepath.Join(root, "usr/local/cuda"); !exists(t, link) {
		Link(t, "cuda-"+version, link)
	}
	Write(t, filepath.Join(root, "etc/ld.so.conf.d/000_cuda.conf"), "/usr/local/cuda/lib64\n")
	Write(t, filepath.Join(root, "etc/ld.so.conf.d/nvidia.conf"), "/usr/local/nvidia/lib\n/usr/local/nvidia/lib64\n")
	command(t, "", nil, ldconfig(), "-X", "-r", root)
}

// CompatPackage puts a driver's libraries into dir as NVIDIA's cuda-compat
// packages have them: the files of one version and their SONAME links.
func CompatPackage(t T, d Driver, dir string) {
	t.Helper()
	mkdir(t, dir, ".")
	for _, from := range []string{debianLibs, debianLibs + "/nvidia/current", debianLibs + "/nvidia/tesla-450"} {
		for _, name := range []string{
			"libcuda.so.", "libcudadebugger.so.", "libnvidia-nvvm.so.", "libnvidia-pkcs11", "libnvidia-ptxjitcompiler.so.",
		} {
			copyLibraries(t, filepath.Join(d.Dir, from), dir, name)
		}
	}
}

// copyLibraries puts the files and links whose names begin with prefix into
// another folder, files as hard links where that works. A folder that is not
// there has none.
func copyLibraries(t T, from, to, prefix string) {
	t.Helper()
	if !exists(t, from) {
		return
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, e := range entries {
		if e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if err := linkOrCopy(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

// noteSection is where a libcuda says which drivers it works with.
const noteSection = ".note.cuda.fwd_compatibility"

// AddNote writes a forward-compatibility note with a JSON text into a libcuda,
// as newer cuda-compat packages have it. The file gets a copy of its own.
func AddNote(t T, libcuda, text string) {
	t.Helper()
	need.CC(t) // objcopy comes with it.
	dir := Temp(t)
	section, out := filepath.Join(dir, "note"), filepath.Join(dir, "libcuda")
	Write(t, section, string(note("NVIDIA Corporation\x00", text+"\x00")))
	command(t, "", nil, "objcopy", "--add-section", noteSection+"="+section,
		"--set-section-flags", noteSection+"=noload,readonly", libcuda, out)
	if err := os.Rename(out, libcuda); err != nil {
		t.Fatalf("%v", err)
	}
}

// note is one ELF note of type 1, padded to 4 bytes.
func note(owner, text string) []byte {
	var b bytes.Buffer
	for _, n := range []int{len(owner), len(text), 1} {
		b.Write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	}
	for _, part := range []string{owner, text} {
		b.WriteString(part)
		for b.Len()%4 != 0 {
			b.WriteByte(0)
		}
	}
	return b.Bytes()
}
