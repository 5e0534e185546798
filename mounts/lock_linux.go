package mounts

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

const (
	lockWait = 10 * time.Second     // a hook takes milliseconds
	lockPoll = 2 * time.Millisecond // flock(2) itself cannot be given a limit
)

// ErrBusy says that another hook works on the container and did not end in time.
var ErrBusy = errors.New("another hook works on the container")

// Lock keeps other hooks off the container until unlock is called: it locks the
// root's directory (flock(2)), in whatever namespace the caller is. It waits 10
// seconds at most for another holder; after that the error matches [ErrBusy]. A
// file system without locks for directories is no error: there is no lock then.
// Directories are resolved again after it, since another hook may have mounted
// something meanwhile; a handle of before may lie below that.
func (r *Root) Lock() (unlock func(), err error) { return r.lock(lockWait) }

func (r *Root) lock(wait time.Duration) (unlock func(), err error) {
	fd, err := r.reopen(int(r.dir.Fd()), unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, wrap("lock", "/", err)
	}
	unlock = func() { unix.Close(fd) } // no other descriptor shares the lock
	end := time.Now().Add(wait)
	for {
		switch err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err {
		case nil:
			r.retire()
			return unlock, nil
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			if !time.Now().Before(end) {
				unlock()
				return nil, wrap("lock", "/", ErrBusy)
			}
			time.Sleep(lockPoll)
		case unix.EBADF, unix.EINVAL, unix.ENOLCK, unix.ENOSYS, unix.EOPNOTSUPP: // EBADF: NFS wants a writable descriptor
			return unlock, nil
		default:
			unlock()
			return nil, wrap("lock", "/", err)
		}
	}
}
