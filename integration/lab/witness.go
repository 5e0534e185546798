package lab

import (
	"crypto/sha256"
	_ "embed" // The witness is compiled from its source at test time.
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

//go:embed testdata/witness/witness.c
var witnessSource string

// Fact is one answer of the witness program. The field that a question does not
// fill is zero.
type Fact struct {
	Op, Arg    string
	Errno      int    // of open, node, write and stat; 0 = it worked
	Error      string // of load, driver, runtime and nvml
	Path, Real string // where the loader found the library, and the file behind
	Code       int    // what the function returned: 0, 35, 100 ...
	Value      int    // what it filled in: 12020 ...
	Type, Mode int    // stat: S_IFMT bits and permissions
	UID, GID   int
	Size       int64
	Major      int
	Minor      int
}

// Facts are the answers by question, such as "open:/dev/nvidia0".
type Facts map[string]Fact

// ParseFacts reads what the witness wrote; lines that are no answer are left out.
func ParseFacts(t T, text string) Facts {
	t.Helper()
	facts := Facts{}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, `{"op"`) {
			continue
		}
		var f Fact
		if err := json.NewDecoder(strings.NewReader(line)).Decode(&f); err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("read the witness's %q: %v", line, err)
		}
		facts[f.Op+":"+f.Arg] = f
	}
	return facts
}

// witness compiles the witness program with a compiler and its flags, which
// name the variant.
func witness(t T, name string, build func(source, out string)) string {
	t.Helper()
	sum := sha256.Sum256([]byte(witnessSource))
	dir := Once(t, "witness/"+name+"-"+hex.EncodeToString(sum[:6]), func(dir string) {
		source := filepath.Join(dir, "witness.c")
		Write(t, source, witnessSource)
		build(source, filepath.Join(dir, "witness"))
	})
	return filepath.Join(dir, "witness")
}

// Witness returns the witness program for this machine's C library.
func Witness(t T) string {
	t.Helper()
	need.CC(t)
	return witness(t, "machine", func(source, out string) {
		command(t, "", nil, "cc", "-Os", "-s", "-o", out, source, "-ldl")
	})
}

// StaticWitness returns a witness that needs no loader, and can ask it nothing.
func StaticWitness(t T) string {
	t.Helper()
	need.CC(t)
	return witness(t, "static", func(source, out string) {
		command(t, "", nil, "cc", "-Os", "-s", "-static", "-DSTATIC", "-o", out, source)
	})
}

// OldWitness returns a witness that runs on glibc 2.31 and later.
func OldWitness(t T) string {
	t.Helper()
	need.CC(t)
	need.Packages(t)
	packages := Packages(t, "bullseye", "libc6", "libc6-dev", "linux-libc-dev")
	sysroot := Once(t, "sysroot/bullseye-1", func(dir string) {
		CopyTree(t, packages, dir)
		// The loader is an absolute link, which the linker takes for one of this machine's.
		loader := filepath.Join(dir, "lib64/ld-linux-x86-64.so.2")
		command(t, "", nil, "ln", "-sf", "../lib/x86_64-linux-gnu/ld-2.31.so", loader)
	})
	return witness(t, "bullseye", func(source, out string) {
		libs := filepath.Join(sysroot, debianLibs)
		command(t, "", nil, "cc", "--sysroot="+sysroot, "-B"+libs, "-L"+libs, "-L"+filepath.Join(sysroot, "lib/x86_64-linux-gnu"),
			"-Os", "-s", "-o", out, source, "-Wl,--no-as-needed", "-l:libdl.so.2")
	})
}

// MuslWitness returns a witness for the musl C library.
func MuslWitness(t T) string {
	t.Helper()
	need.CC(t)
	need.Musl(t)
	sysroot := Packages(t, "bookworm", "musl", "musl-dev", "linux-libc-dev")
	return witness(t, "musl-dynamic", func(source, out string) {
		libs := filepath.Join(sysroot, "usr/lib/x86_64-linux-musl")
		command(t, "", nil, "cc", "-Os", "-s", "-fno-stack-protector", "-nostdinc", "-nostdlib", "-no-pie", "-fno-pie",
			"-isystem", filepath.Join(sysroot, "usr/include/x86_64-linux-musl"),
			"-o", out, libs+"/crt1.o", libs+"/crti.o", source, "-L"+filepath.Join(sysroot, "lib/x86_64-linux-musl"), "-lc", libs+"/crtn.o",
			"-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
	})
}
