package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// enter opens the cgroup through one mount and checks that the process is in
// it. The check is what makes the guess safe: a wrong prefix, another
// namespace's view, or a cgroup that was made again under the same name does
// not list the process.
func (l *Layout) enter(m mount) error {
	rel, ok := m.below(l.Path)
	if !ok {
		return fmt.Errorf("cgroup %.200q is outside of the mount %s: %w", l.Path, m.at, ErrNoCgroup)
	}
	name := m.at
	if rel != "/" {
		name += rel
	}
	dir, err := os.OpenFile(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoCgroup, err)
	}
	if err := l.check(dir); err != nil {
		_ = dir.Close()
		return err
	}
	l.dir, l.Dir, l.depth = dir, name, levels(rel)
	return nil
}

func (l *Layout) check(dir *os.File) error {
	want := int64(unix.CGROUP_SUPER_MAGIC)
	if l.Version == V2 {
		want = unix.CGROUP2_SUPER_MAGIC
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &fs); err != nil || fs.Type != want {
		return fmt.Errorf("%s is not a cgroup v%d directory: %w", dir.Name(), l.Version, ErrNoCgroup)
	}
	if l.Version == V1 {
		var st unix.Stat_t
		if err := unix.Fstatat(int(dir.Fd()), "devices.list", &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return fmt.Errorf("%s has no device rules: %w: %w", dir.Name(), ErrNoCgroup, err)
		}
	}
	member, err := lists(dir, "cgroup.procs", l.PID)
	if errors.Is(err, unix.EOPNOTSUPP) {
		// A threaded cgroup (Linux 4.14) has no list of processes.
		member, err = lists(dir, "cgroup.threads", l.PID)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoCgroup, err)
	}
	if !member {
		return fmt.Errorf("%s does not list process %d: %w", dir.Name(), l.PID, ErrNoCgroup)
	}
	return nil
}

// lists says whether a file of a cgroup has the process id in a line. A new
// container's has one or two lines; the bound is for a running one.
func lists(dir *os.File, name string, pid int) (bool, error) {
	fd, err := openat(dir, name, unix.O_RDONLY)
	if err != nil {
		return false, err
	}
	f := os.NewFile(uintptr(fd), dir.Name()+"/"+name)
	defer f.Close()
	// 4194304 processes (PID_MAX_LIMIT) of 8 bytes are 32 MiB.
	b, err := io.ReadAll(io.LimitReader(f, 32<<20))
	if err != nil {
		return false, err
	}
	want := strconv.AppendInt(nil, int64(pid), 10)
	for line := range bytes.Lines(b) {
		if bytes.Equal(bytes.TrimSuffix(line, []byte("\n")), want) {
			return true, nil
		}
	}
	return false, nil
}

// alive fails where the process ended since [Detect]. Its cgroup may then be
// gone, or be another container's.
func (l Layout) alive() error {
	lines, err := readProcess(l.proc, "cgroup")
	if err != nil {
		return err
	}
	if p := parseCgroups(lines); l.Version == V1 && p.devices != l.Path || l.Version == V2 && p.unified != l.Path {
		return fmt.Errorf("process was moved to another cgroup: %w", ErrNoCgroup)
	}
	return nil
}
