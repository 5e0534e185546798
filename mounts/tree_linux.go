package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Tree is the private read-only file system that holds the driver's files: a
// tmpfs with "gpu-hook" as its mount source.
type Tree struct {
	At    string // directory inside the root, "/usr/local/nvidia"
	Label string // SELinux mount label, for the option context=; "" = none
	Files []TreeFile
	Texts []TreeText
	Links []Link
}

// TreeText is a small file with content of our own in the tree, for what the
// container must see in other words than the host.
type TreeText struct {
	Path    string // inside the tree
	Content []byte
}

// TreeFile is a host file in the tree.
type TreeFile struct {
	Path string // inside the tree: "lib64/libcuda.so.550.54.15"
	From *Prepared
}

// Build mounts the tree and makes all of it read-only, nosuid and nodev, never
// noexec. It is called in the container's mount namespace. Where a tree of ours
// with the same content is mounted already, it is Kept and nothing changes; one
// with other content is Replaced. Build takes the mounts out of what was
// prepared, so a second Build needs new ones; a *[MountPointError],
// *[ForeignMountError] or *[ReadOnlyError] comes before that, and another place
// can be tried.
//
// The mount point is made if it is missing, which needs a directory on the
// root's own mount. One that exists may be anywhere, since mounting over a
// volume does not write to it. A directory of the image's own may have content,
// which is hidden on purpose; one that only a link leads to must be empty, since
// it may be any directory, such as /usr. That, a file or a dangling link is a
// *[MountPointError]. If anything goes wrong half way, the mount and the
// directories made for it are taken away again. Handles that r.Dir gave out
// before, and those of other roots, stay below the mount.
func (t Tree) Build(r *Root, c Calls) (Outcome, error) {
	if err := t.check(); err != nil {
		return 0, err
	}
	at, made, err := r.mountPoint(t.At)
	if err != nil {
		return 0, err
	}
	defer r.retire()
	outcome, at, err := t.clear(r, at)
	if err == nil && outcome != Kept {
		err = r.mayCover(at, t.At)
		if err == nil {
			err = t.mount(r, at, c)
		}
	}
	if err != nil {
		made.remove()
		return 0, err
	}
	return outcome, nil
}

// clear looks for a tree of an earlier run. The same one is Kept; another is
// taken away, and the directory below it returned.
func (t Tree) clear(r *Root, at *os.File) (Outcome, *os.File, error) {
	ours, err := r.isOurs(int(at.Fd()))
	if err != nil {
		return 0, nil, wrap("mount on", t.At, err)
	}
	if !ours {
		return Made, at, nil
	}
	same, err := t.same(r, int(at.Fd()))
	if err != nil {
		return 0, nil, wrap("compare", t.At, err)
	}
	if same {
		return Kept, at, nil
	}
	if err := detach(int(at.Fd())); err != nil {
		return 0, nil, wrap("unmount", t.At, err)
	}
	r.retire()
	at, err = r.Dir(t.At)
	return Replaced, at, err
}

// mountPoint finds or makes a directory to mount on.
func (r *Root) mountPoint(unsafePath string) (*os.File, made, error) {
	at, made, err := r.mkdirAll(unsafePath)
	if wrong, ok := errors.AsType[*WrongKindError](err); ok {
		return nil, made, &MountPointError{Path: unsafePath, Got: wrong.Got}
	}
	if errors.Is(err, unix.ENOTDIR) {
		return nil, made, &MountPointError{Path: unsafePath, Got: "file, or below one"}
	}
	if err != nil {
		return nil, made, err
	}
	top, err := r.isTop(at)
	if err != nil {
		return nil, made, wrap("stat", unsafePath, err)
	}
	if top {
		return nil, made, &MountPointError{Path: unsafePath, Got: wholeRoot}
	}
	return at, made, nil
}

// What a [MountPointError] got besides kinds of files.
const (
	wholeRoot = "path of the container's root itself"
	fullLink  = "link to a directory that is not empty"
	elsewhere = "path that leads elsewhere once something is mounted there"
)

// isTop reports whether a directory is the root itself, where an image's link
// can lead.
func (r *Root) isTop(dir *os.File) (bool, error) {
	var st, top unix.Stat_t
	if err := errors.Join(unix.Fstat(int(dir.Fd()), &st), unix.Fstat(int(r.dir.Fd()), &top)); err != nil {
		return false, err
	}
	return st.Dev == top.Dev && st.Ino == top.Ino, nil
}

// check refuses paths that are not relative and clean. They are made of names of
// host files, so one that does is a bug or an attack on the host's side.
func (t Tree) check() error {
	for _, f := range t.Files {
		if !fs.ValidPath(f.Path) || f.Path == "." || f.From == nil {
			return &PathError{Op: "put into the tree", Path: f.Path, Err: unix.EINVAL}
		}
	}
	for _, f := range t.Texts {
		if !fs.ValidPath(f.Path) || f.Path == "." {
			return &PathError{Op: "put into the tree", Path: f.Path, Err: unix.EINVAL}
		}
	}
	for _, l := range t.Links {
		if !fs.ValidPath(l.Path) || l.Path == "." {
			return &PathError{Op: "put into the tree", Path: l.Path, Err: unix.EINVAL}
		}
	}
	return nil
}

// mount mounts the tmpfs, fills and seals it.
func (t Tree) mount(r *Root, at *os.File, c Calls) error {
	top, err := r.mountTmpfs(at, t.At, t.Label, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, c)
	if err != nil {
		return wrap("mount on", t.At, err)
	}
	defer top.close()
	if leads, err := r.leadsTo(t.At, top.fd); err != nil || !leads {
		return errors.Join(&MountPointError{Path: t.At, Got: elsewhere}, err, detach(top.fd))
	}
	err = t.fill(top.fd)
	if err == nil {
		err = t.seal(top.fd, c)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("fill %.200q: %w", t.At, err), detach(top.fd))
	}
	return nil
}
