package mounts

import (
	"errors"
	"os"
	"strings"

	"github.com/cyphar/filepath-securejoin/pathrs-lite"
	"golang.org/x/sys/unix"
)

// Dir returns an O_PATH handle of an existing directory. It is resolved once
// and kept; r closes it.
func (r *Root) Dir(unsafePath string) (*os.File, error) {
	key := inside(unsafePath)
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.dirs[key]; d != nil {
		return d, nil
	}
	fd, err := r.open(unsafePath, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, wrap("open", unsafePath, err)
	}
	d := file(fd, unsafePath)
	r.dirs[key] = d
	return d, nil
}

// retire forgets the resolved directories: after a mount a name may lead
// somewhere else. The handles stay open, since callers hold them.
func (r *Root) retire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, d := range r.dirs {
		r.retired = append(r.retired, d)
		delete(r.dirs, key)
	}
}

// MkdirAll returns a handle like [Root.Dir] and first makes what is missing,
// with mode 0755 less the umask. It makes directories only on the root's own
// mount; elsewhere the error is a *[ForeignMountError]. A dangling link on the
// way is a *[WrongKindError].
func (r *Root) MkdirAll(unsafePath string) (*os.File, error) {
	d, _, err := r.mkdirAll(unsafePath)
	return d, err
}

// mkdirAll also returns what undoes it.
func (r *Root) mkdirAll(unsafePath string) (*os.File, made, error) {
	d, err := r.Dir(unsafePath)
	if !errors.Is(err, unix.ENOENT) {
		return d, made{}, err
	}
	from, missing, err := r.existing(unsafePath)
	if err != nil {
		return nil, made{}, err
	}
	if own, err := r.Owns(from); err != nil {
		return nil, made{}, wrap("stat", unsafePath, err)
	} else if !own {
		return nil, made{}, &ForeignMountError{Path: unsafePath}
	}
	if kindAt(int(from.Fd()), first(missing)) == unix.S_IFLNK {
		return nil, made{}, &WrongKindError{Path: unsafePath, Got: "dangling link", Want: "directory"}
	}
	undo := made{dir: from, path: missing}
	f, err := r.makeDirs(from, missing)
	if err != nil {
		undo.remove()
		return nil, made{}, wrap("create directory", unsafePath, err)
	}
	if own, err := r.Owns(f); err != nil || !own {
		f.Close()
		undo.remove()
		return nil, made{}, wrap("create directory", unsafePath, errors.Join(ErrChanged, err))
	}
	if err := r.labelDirs(undo); err != nil {
		f.Close()
		undo.remove()
		return nil, made{}, wrap("label directory", unsafePath, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirs[inside(unsafePath)] = f
	return f, undo, nil
}

// makeDirs makes a chain of plain names below a directory. Each is opened by a
// single call that follows no link and leaves no mount, so what was made is what
// is used: a name swapped for a link meanwhile is an error. Where that call is
// missing (before Linux 5.6), pathrs-lite does the same in more steps.
func (r *Root) makeDirs(from *os.File, missing string) (*os.File, error) {
	if r.noOpenat2.Load() {
		f, err := pathrs.MkdirAllHandle(from, missing, 0o755)
		return f, pathrsCause(err)
	}
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS,
	}
	at := from
	for name := range strings.SplitSeq(missing, "/") {
		err := unix.Mkdirat(int(at.Fd()), name, 0o755)
		fd := -1
		if err == nil || errors.Is(err, unix.EEXIST) {
			fd, err = unix.Openat2(int(at.Fd()), name, &how)
		}
		if at != from {
			at.Close()
		}
		if err != nil {
			return nil, pathrsCause(err)
		}
		at = file(fd, name)
	}
	return at, nil
}

// existing returns the deepest directory on the way to unsafePath that exists,
// and the components after it.
func (r *Root) existing(unsafePath string) (*os.File, string, error) {
	path := inside(unsafePath)
	missing := ""
	for {
		dir, name, ok := split(path)
		if !ok {
			return nil, "", wrap("create directory", unsafePath, unix.ENOENT)
		}
		if missing == "" {
			missing = name
		} else {
			missing = name + "/" + missing
		}
		d, err := r.Dir(dir)
		if err == nil {
			return d, missing, nil
		}
		if !errors.Is(err, unix.ENOENT) {
			return nil, "", err
		}
		path = dir
	}
}
