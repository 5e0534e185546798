package access

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// runtime is a way to get a container started.
type runtime struct {
	name  string
	find  func(lab.T) lab.Runtime // nil: from Debian's sid, in a root of its own
	sid   string                  // the program's name there
	isV18 bool                    // crun 1.8, which knows fewer layouts
}

// The runtimes: this machine's, the one of go.mod, and the newest.
func runtimes() []runtime {
	return []runtime{
		{name: "runc", find: lab.Runc},
		{name: "runc-module", find: lab.RuncModule},
		{name: "runc-sid", sid: "runc"},
		{name: "crun", find: lab.Crun, isV18: true},
		{name: "crun-sid", sid: "crun"},
	}
}

// use returns the runtime and the shell lines that a bundle's box needs for it.
func (r runtime) use(t *testing.T, b *lab.Bundle) (lab.Runtime, string) {
	t.Helper()
	if r.find != nil {
		return r.find(t), ""
	}
	return fromSid(t, r.sid, b)
}

// fromSid makes a root for a program of Debian's sid, whose C library is newer
// than this machine's. Bundles keep their paths inside of it.
func fromSid(t *testing.T, name string, b *lab.Bundle) (lab.Runtime, string) {
	t.Helper()
	files := lab.Packages(t, "sid", "crun", "runc", "libc6", "libcap2", "libseccomp2", "libsystemd0", "libjson-c5", "libblake3-0", "libtbb12", "libstdc++6", "libgcc-s1")
	root, work := b.Dir+"/sid", filepath.Dir(b.Dir)
	script := filepath.Join(b.Dir, name+"-sid")
	program := map[string]string{"crun": "/usr/bin/crun", "runc": "/usr/sbin/runc"}[name]
	// No chroot(2): in one the kernel makes no user namespaces.
	lab.Write(t, script, "#!/bin/sh\nexec unshare -m sh -c 'cd "+root+" && pivot_root . old && exec "+program+" \"$@\"' "+name+" \"$@\"\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	setup := fmt.Sprintf(`mkdir -p %[1]s
mount -t tmpfs -o mode=755 sid %[1]s
cd %[1]s
mkdir -p usr proc sys dev run tmp etc old .%[3]s
for d in bin sbin lib lib64; do ln -s usr/$d $d; done
mount --rbind %[2]s/usr usr
for d in proc sys dev run; do mount --rbind /$d $d; done
mount --rbind %[3]s .%[3]s
cd /
`, root, files, work)
	return lab.Runtime{Name: name + "-sid", Path: script}, setup
}
