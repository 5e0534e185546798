package mounts

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// labelName is the extended attribute of SELinux. Without SELinux the kernel
// stores it for the privileged or says EOPNOTSUPP, so it is only set where the
// container has a label.
const labelName = "security.selinux"

// selinux reports that this kernel enforces or reports by labels: its own file
// system is where libselinux looks for it, too (since Linux 3.0).
func selinux() bool {
	var st unix.Statfs_t
	return unix.Statfs("/sys/fs/selinux", &st) == nil && st.Type == unix.SELINUX_MAGIC
}

// labelFile labels an open file.
func (r *Root) labelFile(fd int) error {
	if r.label == "" {
		return nil
	}
	return ignoreUnsupported(unix.Fsetxattr(fd, labelName, []byte(r.label), 0))
}

// labelAt labels a link, or another entry of dir, without following it. Links
// can only be labelled by path; the path is a handle and a single name.
func (r *Root) labelAt(dir int, name string) error {
	if r.label == "" {
		return nil
	}
	return ignoreUnsupported(unix.Lsetxattr(fdPath(dir)+"/"+name, labelName, []byte(r.label), 0))
}

// Label gives an entry of dir, one of r's own handles, the label of [Root.SetLabel]:
// for what others make in the container, such as device nodes. On a file system
// that is mounted with a label for all of it (context=) the kernel takes no
// other, which is no error.
func (r *Root) Label(dir *os.File, name string) error {
	if err := r.labelAt(int(dir.Fd()), name); err != nil {
		return wrap("label", name, err)
	}
	return nil
}

// labelDirs labels directories that were made.
func (r *Root) labelDirs(m made) error {
	if r.label == "" {
		return nil
	}
	return m.walk(func(parent int, name string, _ int) error { return r.labelAt(parent, name) })
}

func ignoreUnsupported(err error) error {
	if errors.Is(err, unix.EOPNOTSUPP) { // the same number as ENOTSUP
		return nil
	}
	return err
}
