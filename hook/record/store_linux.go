package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Store is the directory of records.
type Store struct{ Dir string }

const (
	containers = "containers"
	suffix     = ".json"
	// maxName is NAME_MAX less what pid and suffix take.
	maxName = 200
)

// fileName is the record's file: the id with everything but plain characters
// escaped, so that no id leaves the directory, and the pid.
func fileName(id string, pid int) string {
	name := url.PathEscape(strings.TrimLeft(id, "."))
	return name[:min(len(name), maxName)] + "." + strconv.Itoa(pid) + suffix
}

// Put writes a record, and removes those of containers that are gone.
func (s Store) Put(r Record) error {
	r.Version = Version
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	dir, err := s.open(true)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := replace(dir, fileName(r.ID, r.PID), data); err != nil {
		return fmt.Errorf("write record of %.200q: %w", r.ID, err)
	}
	return prune(dir)
}

// prune removes the records whose pid nobody has, by their names alone: with a
// hundred containers on a host nothing is read. One whose pid is another
// process's now stays until [Store.List] looks into it.
func prune(dir *os.File) error {
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("read record directory: %w", err)
	}
	for _, name := range names {
		pid, ok := pidOf(name)
		if ok && errors.Is(unix.Access("/proc/"+strconv.Itoa(pid), unix.F_OK), unix.ENOENT) {
			_ = unix.Unlinkat(int(dir.Fd()), name, 0)
		}
	}
	return nil
}

// pidOf is the pid in a record's file name.
func pidOf(name string) (int, bool) {
	name, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, false
	}
	pid, err := strconv.Atoi(name[strings.LastIndexByte(name, '.')+1:])
	return pid, err == nil && pid > 0
}

// List returns the records of containers that run, by id, and removes the
// others. No directory is no records.
func (s Store) List() ([]Record, error) {
	dir, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return list(dir)
}

// open opens the directory without following a link in its last two parts, and
// makes it where it is missing: 0700, root's.
func (s Store) open(create bool) (*os.File, error) {
	if create {
		if err := unix.Mkdir(s.Dir, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, fmt.Errorf("make record directory %s: %w", s.Dir, err)
		}
	}
	top, err := openDir(unix.AT_FDCWD, s.Dir)
	if err != nil {
		return nil, err
	}
	defer unix.Close(top)
	if create {
		if err := unix.Mkdirat(top, containers, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, fmt.Errorf("make record directory %s/%s: %w", s.Dir, containers, err)
		}
	}
	fd, err := openDir(top, containers)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), s.Dir+"/"+containers), nil
}

func openDir(at int, name string) (int, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open record directory %.200q: %w", name, err)
	}
	return fd, nil
}

// replace writes the file beside and renames it.
func replace(dir *os.File, name string, data []byte) error {
	at, temp := int(dir.Fd()), "."+name
	fd, err := unix.Openat(at, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return os.NewSyscallError("openat", err)
	}
	f := os.NewFile(uintptr(fd), temp)
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.NewSyscallError("renameat", unix.Renameat(at, temp, at, name))
	}
	if err != nil {
		return errors.Join(err, unix.Unlinkat(at, temp, 0))
	}
	return nil
}

func list(dir *os.File) ([]Record, error) {
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("read record directory: %w", err)
	}
	var records []Record
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) || strings.HasPrefix(e.Name(), ".") || !e.Type().IsRegular() {
			continue
		}
		r, err := read(dir, e.Name())
		switch {
		case err != nil: // another version's, or damaged: not ours to remove
		case r.Alive():
			records = append(records, r)
		default:
			_ = unix.Unlinkat(int(dir.Fd()), e.Name(), 0)
		}
	}
	slices.SortFunc(records, func(a, b Record) int { return strings.Compare(a.ID, b.ID) })
	return records, nil
}

func read(dir *os.File, name string) (Record, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return Record{}, os.NewSyscallError("openat", err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize))
	if err != nil {
		return Record{}, err
	}
	return parse(data)
}
