package mounts

import (
	"bytes"
	"io"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

// same reports whether a mounted tree holds exactly this content, read-only:
// every file is a mount of the same device and inode, every link has the same
// target, and there is nothing else.
func (t Tree) same(r *Root, top int) (bool, error) {
	want := map[string]any{}
	for _, f := range t.Files {
		want[f.Path] = f.From
	}
	for _, f := range t.Texts {
		want[f.Path] = f.Content
	}
	for _, l := range t.Links {
		want[l.Path] = l.Target
	}
	dirs := map[string]bool{".": true}
	for p := range want {
		for d := path.Dir(p); !dirs[d]; d = path.Dir(d) {
			dirs[d] = true
		}
	}
	if ro, err := sealed(top); err != nil || !ro {
		return false, err
	}
	seen, same, err := compareDir(r, top, ".", want, dirs)
	return same && seen == len(want)+len(dirs)-1, err
}

// compareDir compares one directory and those below it, and counts entries.
func compareDir(r *Root, fd int, at string, want map[string]any, dirs map[string]bool) (seen int, same bool, err error) {
	readable, err := r.reopen(fd, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return 0, false, err
	}
	dir := file(readable, "/proc/self/fd/"+strconv.Itoa(readable)) // see Root.openDir
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0, false, err
	}
	for _, name := range names {
		p := path.Join(at, name)
		entry, err := unix.Openat(fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return 0, false, err
		}
		same := false
		seen++
		if dirs[p] {
			var below int
			below, same, err = compareDir(r, entry, p, want, dirs)
			seen += below
		} else {
			same, err = compareEntry(r, entry, want[p])
		}
		unix.Close(entry)
		if err != nil || !same {
			return seen, false, err
		}
	}
	return seen, true, nil
}

// compareEntry compares a file with what was prepared for it, a text with its
// content, or a link with its target.
func compareEntry(r *Root, fd int, want any) (bool, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, err
	}
	switch want := want.(type) {
	case *Prepared:
		if !want.is(&st) {
			return false, nil
		}
		return sealed(fd)
	case []byte:
		if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size != int64(len(want)) {
			return false, nil
		}
		have, err := r.readAll(fd, len(want))
		return bytes.Equal(have, want), err
	case string:
		if st.Mode&unix.S_IFMT != unix.S_IFLNK {
			return false, nil
		}
		target, err := readlink(fd)
		return target == want, err
	}
	return false, nil
}

// readAll reads a small file by its O_PATH handle, up to one byte more than size.
func (r *Root) readAll(fd, size int) ([]byte, error) {
	readable, err := r.reopen(fd, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	f := file(readable, "text")
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(size)+1))
}
