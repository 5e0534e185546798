package loader

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
	"github.com/gpu-hook/gpu-hook/mounts/ldcache"
)

// realRoot is a copied root with a real loader, tiny libraries of our own in
// the place of the driver's, and others in the image's directories.
type realRoot struct {
	t   *testing.T
	top string
}

const defaultDir = "/usr/lib/x86_64-linux-gnu"

func newRealRoot(t *testing.T, kind lab.Kind) realRoot {
	t.Helper()
	need.Root(t)
	need.MountNS(t)
	need.CC(t)
	r := realRoot{t: t, top: lab.Root(t, kind)}
	for _, name := range []string{"libcuda.so.1", "libnvidia-ml.so.1"} {
		r.library(ours, name)
	}
	return r
}

// library compiles a library that needs nothing.
func (r realRoot) library(dir, soname string, options ...string) {
	r.t.Helper()
	if err := os.MkdirAll(r.top+dir, 0o755); err != nil {
		r.t.Fatal(err)
	}
	args := append([]string{"-x", "c", "-", "-shared", "-nostdlib", "-Wl,-soname," + soname, "-o", r.top + dir + "/" + soname}, options...)
	cmd := exec.Command("cc", args...)
	cmd.Stdin = strings.NewReader("int answer(void) { return 42; }\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("cc: %v\n%s", err, out)
	}
}

func (r realRoot) write(name, text string) {
	r.t.Helper()
	lab.Write(r.t, r.top+name, text)
}

// run runs a program of the root, in a mount namespace of its own.
func (r realRoot) run(program string, args ...string) (stdout, stderr string, err error) {
	r.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Path, cmd.Err = program, nil // Nothing is looked up on this machine.
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: r.top, Unshareflags: syscall.CLONE_NEWNS}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return out.String(), errOut.String(), err
}

// ldconfig runs the root's own, which must succeed in silence.
func (r realRoot) ldconfig(args ...string) {
	r.t.Helper()
	out, errOut, err := r.run("/sbin/ldconfig", args...)
	if err != nil || out+errOut != "" {
		r.t.Errorf("ldconfig %q: %v\n%s%s", args, err, out, errOut)
	}
}

// loads asks the root's loader for names and returns the paths it took.
func (r realRoot) loads(names ...string) map[string]string {
	r.t.Helper()
	args := make([]string, 0, len(names))
	for _, name := range names {
		args = append(args, "load:"+name)
	}
	witness := "/usr/bin/witness"
	if _, err := os.Lstat(r.top + witness); err != nil {
		witness = "/bin/witness"
	}
	out, errOut, err := r.run(witness, args...)
	if err != nil {
		r.t.Fatalf("witness: %v\n%s%s", err, out, errOut)
	}
	paths := map[string]string{}
	for _, fact := range lab.ParseFacts(r.t, out) {
		paths[fact.Arg] = fact.Path
	}
	return paths
}

// names lists what the cache offers to the root's programs.
func (r realRoot) names() []string {
	r.t.Helper()
	data, err := os.ReadFile(r.top + cachePath)
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := ldcache.Parse(data)
	if err != nil {
		r.t.Fatal(err)
	}
	set := map[string]bool{}
	for e := range c.All() {
		if e.Flags == 0x303 {
			set[e.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// apply inspects the root and puts the driver's names in front.
func (r realRoot) apply() (Facts, []string) {
	r.t.Helper()
	root := openRoot(r.t, r.top)
	f := inspect(r.t, root)
	u := ourUpdate()
	u.Libraries = u.Libraries[:2]
	warnings, err := u.Apply(root, f)
	if err != nil {
		r.t.Fatal(err)
	}
	return f, codes(warnings)
}

// wantOurs sees that the loader takes the driver's names from our directory.
func (r realRoot) wantOurs(when string) {
	r.t.Helper()
	for name, path := range r.loads("libcuda.so.1", "libnvidia-ml.so.1") {
		if path != ours+"/"+name {
			r.t.Errorf("%s %s is loaded from %q, want ours", when, name, path)
		}
	}
}
