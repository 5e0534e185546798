package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// Direct is a run of the hook without a runtime: a process that sleeps in a
// mount namespace of its own plays the container. It is quicker than a runtime,
// takes states that no runtime would write, and touches no cgroup: the bundle's
// configuration must say mode = "off" there.
type Direct struct {
	State  string // what the hook reads; "" = a right state; %PID% becomes the process id
	Stage  string // default "prestart"
	Setup  string // shell lines in the container's namespace before the hook; $ROOT is the rootfs
	Inside string // shell lines in the container's namespace after the hook; their output is Result.Stdout
	Times  int    // how often the hook runs; 0 = once
	DevDir bool   // /dev is a directory of the rootfs, not a tmpfs
}

// NoCgroups is the configuration that Direct needs.
const NoCgroups = "load-kernel-modules = false\n[cgroups]\nmode = \"off\"\n"

// DirectResult is how the hook ended.
type DirectResult struct {
	Result        // Code, Stdout, Stderr of the hook's last run
	Inside string // what the shell lines inside wrote; Facts are the witness's among them
}

// RunDirect runs the hook of a bundle on a sleeping process.
func RunDirect(t T, b *Bundle, d Direct) DirectResult {
	t.Helper()
	need.Root(t)
	need.MountNS(t)
	out := filepath.Join(b.Dir, "out")
	if err := os.RemoveAll(out); err != nil {
		t.Fatalf("%v", err)
	}
	mkdir(t, out, ".")
	state := d.State
	if state == "" {
		state = b.State("%PID%")
	}
	Write(t, out+"/state", state)
	stage := d.Stage
	if stage == "" {
		stage = "prestart"
	}
	root := b.Root
	container := "ROOT=" + root + "\nmount --bind $ROOT $ROOT\n"
	if b.Upper != "" {
		root = b.Dir + "/rootfs"
		container = "ROOT=" + root + "\n" + b.mountScript()
	}
	if !d.DevDir {
		container += "mount -t tmpfs -o mode=755 dev $ROOT/dev\n"
	}
	container += d.Setup + "\necho $$ >" + out + "/pid\nexec sleep 100\n"
	Write(t, out+"/container.sh", container)
	Write(t, out+"/inside.sh", "ROOT="+root+"\n"+d.Inside+"\n")
	script := fmt.Sprintf(`OUT=%s
unshare -m sh -e $OUT/container.sh >$OUT/setup 2>&1 </dev/null &
child=$!
i=0
while ! [ -s $OUT/pid ] && [ -d /proc/$child ] && [ $i -lt 1000 ]; do i=$((i+1)); sleep 0.01; done
[ -s $OUT/pid ] || { cat $OUT/setup >&2; exit 97; }
trap 'kill $child' EXIT
sed -i "s/%%PID%%/$child/" $OUT/state
set +e
umask 077
for i in $(seq %d); do
  timeout -k 1 25 %s %s <$OUT/state >$OUT/stdout 2>$OUT/stderr
  rc=$?
done
umask 022
nsenter -t $child -m timeout -k 1 20 sh $OUT/inside.sh >$OUT/inside 2>&1
exit $rc
`, out, max(d.Times, 1), strings.Join(b.Hook, " "), stage)
	r := sh(t, script, time.Minute)
	if r.Code == 97 {
		t.Fatalf("set the container up: %s", r.Stderr)
	}
	r.Stdout, r.Stderr, r.Log = Content(out+"/stdout"), Content(out+"/stderr"), Content(b.Log)
	inside := Content(out + "/inside")
	r.Facts = ParseFacts(t, inside)
	return DirectResult{Result: r, Inside: inside}
}

// State is the OCI state that a runtime hands to a hook of the bundle.
func (b *Bundle) State(pid string) string {
	text, err := json.Marshal(b.Dir)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(`{"ociVersion":"1.0.2","id":%q,"status":"creating","pid":%s,"bundle":%s}`, b.ID, pid, text)
}
