package state

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pollReader reads a file and gives up at a deadline. Standard input is a
// blocking pipe: it takes no deadline from Go, and making it non-blocking
// would change it for everybody who shares it. So each read waits in poll(2)
// first, which is ready at once for regular files.
type pollReader struct {
	file     *os.File
	deadline time.Time
}

// Read is [io.Reader]; at the deadline it returns [os.ErrDeadlineExceeded].
func (r pollReader) Read(p []byte) (n int, err error) {
	conn, err := r.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	refused := conn.Read(func(fd uintptr) bool {
		n, err = r.readFD(int(fd), p)
		return true
	})
	if refused != nil {
		return 0, refused
	}
	return n, err
}

// readFD waits and reads until there is something to say. Signals (Go's own
// preemption signal is one) interrupt either call; EAGAIN means that somebody
// who shares the file was quicker.
func (r pollReader) readFD(fd int, p []byte) (int, error) {
	for {
		left := time.Until(r.deadline)
		if left <= 0 {
			return 0, os.ErrDeadlineExceeded
		}
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		ready, err := unix.Poll(fds, int(left.Milliseconds())+1)
		if err == nil && ready == 0 {
			continue
		}
		var n int
		if err == nil {
			n, err = unix.Read(fd, p)
		}
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}
