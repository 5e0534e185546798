package hook

import (
	"errors"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/mounts"
)

// readPlaces looks at each name once. Names share few directories, and a
// directory's handle is resolved once and kept by the root.
//
// A name that cannot be looked at is an error, and of optional ones Unusable.
func readPlaces(r *mounts.Root, names []string, optional map[string]bool) (Places, error) {
	places := make(Places, len(names))
	dirs := map[string]dirFact{}
	for _, name := range names {
		pl, err := readPlace(r, name, dirs)
		if err != nil && optional[name] {
			pl = Place{Kind: Unusable, Why: err.Error()}
		} else if err != nil {
			return nil, err
		}
		places[name] = pl
	}
	return places, nil
}

// readPlace looks at one name, and at its directory once.
func readPlace(r *mounts.Root, name string, dirs map[string]dirFact) (Place, error) {
	dir := path.Dir(name)
	d, ok := dirs[dir]
	if !ok {
		var err error
		if d, err = readDirFact(r, dir); err != nil {
			return Place{}, err
		}
		dirs[dir] = d
	}
	return d.place(r, name)
}

// dirFact says what may be done in one directory of the container.
type dirFact struct {
	fd   int // -1: does not exist yet
	kind PlaceKind
}

// readDirFact finds the directory or, where it is missing, the nearest one
// above it, in which it would be made.
func readDirFact(r *mounts.Root, dir string) (dirFact, error) {
	fact := dirFact{fd: -1}
	for at := dir; ; at = path.Dir(at) {
		handle, err := r.Dir(at)
		if errors.Is(err, fs.ErrNotExist) && at != "/" {
			continue
		}
		if err != nil {
			return fact, err
		}
		own, err := r.Owns(handle)
		if err != nil {
			return fact, err
		}
		fact.kind, err = writable(int(handle.Fd()), own)
		if at == dir {
			fact.fd = int(handle.Fd())
		}
		return fact, err
	}
}

func writable(fd int, own bool) (PlaceKind, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return Other, err
	}
	switch {
	case !own:
		return Foreign, nil
	case st.Flags&unix.ST_RDONLY != 0:
		return ReadOnly, nil
	default:
		return Absent, nil
	}
}

// place says what lies at one name of the directory. What cannot be written to
// is not looked at: a user's volume stays the user's.
func (d dirFact) place(r *mounts.Root, name string) (Place, error) {
	if d.fd < 0 {
		return Place{Kind: d.kind}, nil
	}
	var st unix.Stat_t
	err := unix.Fstatat(d.fd, path.Base(name), &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Place{Kind: d.kind}, nil
	case err != nil:
		return Place{}, &fs.PathError{Op: "fstatat", Path: name, Err: err}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return Place{Kind: Dir}, nil
	case unix.S_IFREG:
		if d.kind != Absent {
			return Place{Kind: d.kind}, nil
		}
		if st.Size == 0 {
			return Place{Kind: Empty}, nil
		}
		return Place{Kind: File}, nil
	case unix.S_IFLNK:
		return d.link(r, name)
	default:
		return Place{Kind: Other}, nil
	}
}

func (d dirFact) link(r *mounts.Root, name string) (Place, error) {
	if d.kind != Absent {
		return Place{Kind: d.kind}, nil
	}
	target, err := r.Readlink(name)
	if err != nil {
		return Place{}, err
	}
	f, err := r.Lookup(name)
	if err != nil {
		return Place{Kind: Dangling, Target: target}, nil // whatever stops the lookup, the link leads nowhere
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return Place{Kind: Dangling, Target: target}, nil // to a leftover
	}
	return Place{Kind: Link, Target: target}, nil
}
