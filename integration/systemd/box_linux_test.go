package systemd

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// bootLimit bounds one box. All scenarios take 20 to 50 s on 2 cores.
const bootLimit = 5 * time.Minute

// unitFile makes the driver the box's only service, and its end the box's end.
const unitFile = `[Unit]
Requires=dbus.socket
After=basic.target dbus.socket
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/box/test
Environment=GPUHOOK_BOX_ROLE=driver
StandardOutput=file:/box/out/times.log
StandardError=file:/box/out/driver.log
`

// children gives the box a child of its own in each v1 controller.
const children = `for c in /sys/fs/cgroup/*; do
	mkdir -p $c/$NAME
	for f in cpuset.cpus cpuset.mems; do if [ -e $c/$f ]; then cat $c/$f >$c/$NAME/$f; fi; done
	echo $$ >$c/$NAME/cgroup.procs
done`

// On v2 the box gets a hierarchy of that kind alone; on v1 the unified one is
// taken away.
var layouts = map[string]string{
	"v2": `umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/$NAME && echo $$ >/sys/fs/cgroup/$NAME/cgroup.procs`,
	"v1":     "umount /sys/fs/cgroup/unified\nexport SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=0\n" + children,
	"hybrid": children,
}

// machine is one box: a hierarchy, a Debian suite (bookworm has systemd 252 and
// runc 1.1.5; sid the newest, and a crun that pins its programs), a runtime.
type machine struct {
	layout, suite, runtime string
	bpffs                  bool   // Mounted, as on real hosts.
	only                   string // Scenarios; "" is all but those for few boxes.
}

// root returns the box's file system, made once.
func root(t *testing.T, suite string) string {
	t.Helper()
	// dbus-user-session brings the managers of ordinary users.
	const packages = "systemd,dbus,systemd-sysv,dbus-user-session,runc,crun"
	return lab.Once(t, "systemd-box-user/"+suite, func(dir string) {
		need.Network(t)
		out, err := exec.Command("debootstrap", "--variant=minbase", "--include="+packages, suite, dir).CombinedOutput()
		if err != nil {
			t.Fatalf("debootstrap: %v\n%s", err, out)
		}
	})
}

// boot boots the box and returns the folder with what the scenarios left.
func boot(t *testing.T, m machine) string {
	t.Helper()
	need.SystemdBox(t)
	base := root(t, m.suite)
	box := lab.Temp(t)
	name := "gpu-hook-box-" + filepath.Base(box)
	if err := os.MkdirAll(box+"/out", 0o777); err != nil {
		t.Fatal(err)
	}
	program(t, box+"/test")
	lab.Install(t, lab.Hook(t), box+"/gpu-hook")
	lab.Install(t, lab.RuncModule(t).Path, box+"/runc-module")
	lab.Write(t, box+"/gpu-hook.toml", "host-root = \"/host\"\nload-kernel-modules = false\n[log]\nfile = \"/box/out/gpu-hook.log\"\n")
	host := lab.Host(t, lab.HostSpec{Driver: lab.MadeDriver(t, "535.261.03", 12020), GPUs: lab.GPUs(8, lab.A100)})
	unit := unitFile + "Environment=ONLY=" + m.only + " RUNTIME=" + m.runtime + "\n"
	if m.bpffs {
		unit += "Environment=BPFFS=1\n"
	}
	lab.Write(t, box+"/box.service", unit)
	script := `set -e
mount --make-rprivate /
` + layouts[m.layout] + `
exec systemd-nspawn -q --system-call-filter="@keyring bpf @mount" -D "$ROOT" --volatile=overlay \
	--register=no --keep-unit -b --capability=all --private-network --bind="$BOX:/box" --bind-ro="$STANDIN:/host" \
	--bind-ro="$BOX/box.service:/etc/systemd/system/box.service" -- --unit=box.service`
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), bootLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "-m", "sh", "-c", script)
	cmd.Env = append(os.Environ(), "NAME="+name, "ROOT="+base, "BOX="+box, "STANDIN="+host.Dir)
	defer removeCgroups(t, name)
	// The box has no exit status of its own; the driver's log tells.
	console, err := cmd.CombinedOutput()
	log, _ := os.ReadFile(box + "/out/driver.log")
	if len(log) > 0 || err != nil {
		t.Errorf("box: %v\n%s\n%s", err, log, console[max(0, len(console)-1000):])
	}
	if times, err := os.ReadFile(box + "/out/times.log"); err == nil {
		t.Logf("%s", times)
	}
	t.Logf("the box of %+v took %.0f s", m, time.Since(start).Seconds())
	return box + "/out"
}

// program puts this test program into the box. It must be static, since the
// witness's root has nothing else; where cgo made it dynamic it is built again.
func program(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	image, err := elf.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	if slices.ContainsFunc(image.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		cmd := exec.Command("go", "test", "-c", "-o", to, ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build a static test program: %v\n%s", err, out)
		}
		return
	}
	b, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// removeCgroups removes what the box left in the machine's hierarchies.
func removeCgroups(t *testing.T, name string) {
	t.Helper()
	for _, top := range []string{"/sys/fs/cgroup/" + name, "/sys/fs/cgroup/*/" + name} {
		found, _ := filepath.Glob(top)
		for _, dir := range found {
			out, err := exec.Command("find", dir, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Logf("remove %s: %v %s", dir, err, out)
			}
		}
	}
}
