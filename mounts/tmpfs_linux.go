package mounts

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// mountSource is what the mount table shows as the source of our tmpfs. It is
// how a later run recognises it.
const mountSource = "gpu-hook"

// tmpfsSize is enough for every driver: placeholders and links of up to 127
// bytes take no page, so only inodes count, and 1 MiB brings 256 of them.
const tmpfsSize = "1m"

// tmpfs is a mounted tmpfs of ours, by a handle of its root.
type tmpfs struct{ fd int }

func (t tmpfs) close() { unix.Close(t.fd) }

// mountTmpfs mounts one on a directory. attr is of MOUNT_ATTR_*. It is attached
// before anything is mounted in it: mounts into a tree that is not attached work
// only since Linux 6.15. unsafePath is where the directory was found.
func (r *Root) mountTmpfs(on *os.File, unsafePath, label string, attr int, c Calls) (tmpfs, error) {
	if label != "" && !selinux() {
		label = "" // without SELinux the kernel does not know the option
	}
	if !c.NoFsopen {
		t, err := newTmpfs(label, attr)
		if err == nil {
			err = unix.MoveMount(t.fd, "", int(on.Fd()), "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
			if err != nil {
				t.close()
				return tmpfs{}, fmt.Errorf("move_mount: %w", err)
			}
			return t, nil
		}
		if !unsupported(err) {
			return tmpfs{}, err
		}
	}
	return r.mountTmpfsByPath(on, unsafePath, label, attr)
}

// newTmpfs makes a detached tmpfs.
func newTmpfs(label string, attr int) (tmpfs, error) {
	fsfd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return tmpfs{}, fmt.Errorf("fsopen tmpfs: %w", err)
	}
	defer unix.Close(fsfd)
	options := [][2]string{{"source", mountSource}, {"size", tmpfsSize}, {"mode", "0755"}, {"context", label}}
	for _, o := range options {
		if o[1] == "" {
			continue
		}
		if err := unix.FsconfigSetString(fsfd, o[0], o[1]); err != nil {
			return tmpfs{}, fmt.Errorf("fsconfig tmpfs %s=%.200q%s: %w", o[0], o[1], fsLog(fsfd), err)
		}
	}
	if err := unix.FsconfigCreate(fsfd); err != nil {
		return tmpfs{}, fmt.Errorf("create tmpfs%s: %w", fsLog(fsfd), err)
	}
	fd, err := unix.Fsmount(fsfd, unix.FSMOUNT_CLOEXEC, attr)
	if err != nil {
		return tmpfs{}, fmt.Errorf("fsmount tmpfs%s: %w", fsLog(fsfd), err)
	}
	return tmpfs{fd}, nil
}

// fsLog returns the kernel's own words about the last refused option, which it
// keeps in the file system context ("e tmpfs: Bad value ...").
func fsLog(fsfd int) string {
	var buf [256]byte
	n, err := unix.Read(fsfd, buf[:])
	if err != nil || n <= 2 {
		return ""
	}
	return " (" + strings.TrimSpace(string(buf[2:n])) + ")"
}

// mountTmpfsByPath is mountTmpfs without fsopen (before Linux 5.2). mount(2)
// gives no handle, so the directory is looked up again, and what is found must
// be a tmpfs of ours on another mount than before.
func (r *Root) mountTmpfsByPath(on *os.File, unsafePath, label string, attr int) (tmpfs, error) {
	data := "size=" + tmpfsSize + ",mode=0755"
	if label != "" {
		data += ",context=" + strconv.Quote(label) // quoted: categories are separated by commas
	}
	if err := unix.Mount(mountSource, fdPath(int(on.Fd())), "tmpfs", uintptr(attr), data); err != nil {
		return tmpfs{}, fmt.Errorf("mount tmpfs: %w", err)
	}
	fd, err := r.open(unsafePath, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return tmpfs{}, fmt.Errorf("open new tmpfs: %w", err)
	}
	before, err := r.mount(int(on.Fd()))
	if err != nil {
		unix.Close(fd)
		return tmpfs{}, err
	}
	after, err := r.mount(fd)
	if err != nil {
		unix.Close(fd)
		return tmpfs{}, err
	}
	if ours, err := r.isOurs(fd); err != nil || !ours || before == after {
		unix.Close(fd)
		return tmpfs{}, fmt.Errorf("open new tmpfs: %w", ErrChanged)
	}
	return tmpfs{fd}, nil
}

// isOurs reports whether a handle is the root of a tmpfs that we mounted. The
// mount table is read only where there is a tmpfs at all.
func (r *Root) isOurs(fd int) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return false, err
	}
	if st.Type != unix.TMPFS_MAGIC {
		return false, nil
	}
	id, err := r.mount(fd)
	if err != nil {
		return false, err
	}
	at, err := r.where(fd)
	if err != nil {
		return false, err
	}
	table, err := r.openProc("mountinfo")
	if err != nil {
		return false, err
	}
	defer table.Close()
	found, err := mountinfo.GetMountsFromReader(table, func(m *mountinfo.Info) (skip, stop bool) {
		match := uint64(m.ID) == id
		return !match, match
	})
	if err != nil || len(found) == 0 {
		return false, err
	}
	m := found[0]
	return m.FSType == "tmpfs" && m.Source == mountSource && m.Root == "/" && m.Mountpoint == at, nil
}
