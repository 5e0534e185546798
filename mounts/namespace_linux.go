package mounts

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// errExited is for a function that ended its goroutine instead of returning.
var errExited = errors.New("function ended its goroutine")

// Namespace is a handle of a mount namespace. Opened early, it stays that of
// the same container even if its process dies and the pid is given away.
type Namespace struct{ f *os.File }

// OpenNamespace opens the mount namespace of a process.
func OpenNamespace(pid int) (*Namespace, error) {
	path := "/proc/" + strconv.Itoa(pid) + "/ns/mnt"
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open mount namespace of process %d: %w", pid, &PathError{Op: opOpenRoot, Path: path, Err: err})
	}
	return &Namespace{f: file(fd, path)}, nil
}

// Close closes the handle.
func (n *Namespace) Close() error { return n.f.Close() }

// Do runs fn on a thread that has joined the namespace, and waits for it.
// Goroutines and child processes that fn starts are not in it.
//
// The kernel lets only a thread join that shares its root and working directory
// with no other (EINVAL, mount_namespaces(7)), hence unshare(CLONE_FS). Such a
// thread must never run other Go code again: it is not unlocked, so that the
// runtime ends it together with the goroutine. This is the only place that
// changes the namespace of a thread.
func (n *Namespace) Do(fn func() error) error { return n.do(nil, fn) }

// DoAs is [Namespace.Do] on a thread that makes files as another user. It is for
// namespaces of another user namespace, whose file systems know no user 0 of
// ours: see [User].
func (n *Namespace) DoAs(u User, fn func() error) error { return n.do(&u, fn) }

func (n *Namespace) do(u *User, fn func() error) error {
	err, panicked := errExited, any(nil)
	<-onOtherThread(func() {
		defer func() { panicked = recover() }()
		err = n.join(u, fn)
	})
	if panicked != nil {
		panic(panicked) //nolint:forbidigo // passes a bug on to the goroutine that can recover it
	}
	return err
}

// onOtherThread runs fn on a thread that is ended with it, and never on the
// process's first one: what /proc/self shows is that thread's view, the runtime
// cannot end it, and all that reads /proc/self would see the container's mounts
// from then on. While the first thread is held here, another goroutine must be
// on another.
func onOtherThread(fn func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			<-onOtherThread(fn)
			close(done)
			return
		}
		defer close(done)
		fn()
	}()
	return done
}

func (n *Namespace) join(u *User, fn func() error) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return &PathError{Op: opNamespace, Path: n.f.Name(), Err: fmt.Errorf("unshare: %w", err)}
	}
	if err := unix.Setns(int(n.f.Fd()), unix.CLONE_NEWNS); err != nil {
		return &PathError{Op: opNamespace, Path: n.f.Name(), Err: fmt.Errorf("setns: %w", err)}
	}
	if u != nil {
		if err := u.become(); err != nil {
			return err
		}
	}
	return fn()
}

// InNamespace runs fn on a thread that has joined the mount namespace of a
// process. See [Namespace.Do].
func InNamespace(pid int, fn func() error) error {
	n, err := OpenNamespace(pid)
	if err != nil {
		return err
	}
	defer n.Close()
	return n.Do(fn)
}
