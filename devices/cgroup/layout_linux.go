package cgroup

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/systemd"
)

// Cgroup versions in [Layout].
const (
	None = 0 // No cgroup with device rules is to be seen.
	V1   = 1
	V2   = 2
)

// Layout is where a process's device rules are. It holds handles of the process
// and of its cgroup; [Layout.Close] gives them back.
type Layout struct {
	Version int
	PID     int
	Path    string // The cgroup as /proc/PID/cgroup names it.
	Dir     string // The same as a directory, for messages.
	Unit    string // The nearest scope's name, "" where there is none.
	Systemd bool   // The unit belongs to the system's systemd, which is running.

	above int      // How many levels the unit is above the cgroup: 0, or 1 under crun.
	depth int      // How many levels there are below the mount's root.
	dir   *os.File // The cgroup's directory.
	proc  *os.File // /proc/PID; stays with this process when the id is used again.

	kernel    kernel
	addresses []systemd.Address
}

// sysCgroup is where every distribution mounts cgroups.
const sysCgroup = "/sys/fs/cgroup"

// Detect finds the cgroup of a process and who manages it. The process must be
// alive. Nothing is changed, and no bus is asked yet.
func Detect(pid int) (Layout, error) {
	p, err := openProcess(pid)
	if err != nil {
		return Layout{}, &RuleError{Op: "find cgroup of", What: processName(pid), Err: err}
	}
	l := Layout{PID: pid, proc: p, kernel: bpfKernel{}, addresses: systemd.Addresses()}
	if err := l.locate(); err != nil {
		_ = p.Close()
		return Layout{}, err
	}
	if l.Version == None {
		return l, nil
	}
	l.Unit, l.above = scopeOf(l.Path)
	l.Systemd = l.Unit != "" && !underUserManager(l.Path) && systemdRuns() && privileged()
	return l, nil
}

// locate fills in version, path and directory.
func (l *Layout) locate() error {
	fail := func(err error, fix string) error {
		return &RuleError{Op: "find cgroup of", What: processName(l.PID), Fix: fix, Err: err}
	}
	lines, err := readProcess(l.proc, "cgroup")
	if err != nil {
		return fail(err, "")
	}
	paths := parseCgroups(lines)
	// The usual places first: reading the mount table costs 0.2 ms and more on
	// a host with many containers. Whether a guess is right is seen in the
	// cgroup's list of processes.
	if unified() {
		l.Version, l.Path = V2, paths.unified
		if l.enter(mount{at: sysCgroup, root: "/"}) == nil {
			return nil
		}
	} else if paths.hasDevices {
		l.Version, l.Path = V1, paths.devices
		if l.enter(mount{at: sysCgroup + "/devices", root: "/"}) == nil {
			return nil
		}
		l.Version = None
	}
	table, err := readMounts()
	if err != nil {
		return fail(err, "")
	}
	mounts := table.v2
	if l.Version != V2 {
		switch {
		case paths.hasDevices && len(table.devices) > 0:
			l.Version, l.Path, mounts = V1, paths.devices, table.devices
		case paths.hasUnified && len(table.v2) > 0:
			l.Version, l.Path = V2, paths.unified
		default:
			l.Version = None
			return nil
		}
	}
	err = ErrNoCgroup
	for _, m := range mounts {
		if err = l.enter(m); err == nil {
			return nil
		}
	}
	if !privileged() {
		l.Version = None // Nothing could be changed there anyway.
		return nil
	}
	return fail(err, "run the hook in the host's mount and cgroup namespaces")
}

// Close gives the handles back.
func (l Layout) Close() error {
	if l.dir != nil {
		_ = l.dir.Close()
	}
	if l.proc != nil {
		return l.proc.Close()
	}
	return nil
}

// unified says whether the host has nothing but v2. The v1 lines of
// /proc/PID/cgroup do not say it: a kernel that knows v1 lists them anyway.
func unified() bool {
	var fs unix.Statfs_t
	return unix.Statfs(sysCgroup, &fs) == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC
}

// systemdRuns is sd_booted(3): the directory exists where systemd is the init.
func systemdRuns() bool {
	var st unix.Stat_t
	return unix.Lstat("/run/systemd/system", &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}
