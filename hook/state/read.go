package state

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// The state on standard input. States of 200 kB were seen (annotations); a
// runtime writes one within a millisecond of starting the hook.
const (
	maxState  = 16 << 20         // bytes
	stateWait = 10 * time.Second // for all of it
)

// firstRead is enough for nearly every state: 300 bytes to 2 kB were seen.
const firstRead = 8 << 10

// limits bound what is taken from standard input; tests use smaller ones.
type limits struct {
	bytes int
	wait  time.Duration
}

// read takes everything up to the end of r. The data read so far comes with
// an error, too.
func (l limits) read(r io.Reader) ([]byte, error) {
	if f, ok := r.(*os.File); ok {
		return l.readAll(pollReader{file: f, deadline: time.Now().Add(l.wait)})
	}
	// Any other reader may block for ever in a call that nobody can end: it is
	// left behind.
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := l.readAll(r)
		done <- result{data, err}
	}()
	timer := time.NewTimer(l.wait)
	defer timer.Stop()
	select {
	case got := <-done:
		return got.data, got.err
	case <-timer.C:
		return nil, l.stalled(0)
	}
}

// readAll is [io.ReadAll] with a limit.
func (l limits) readAll(r io.Reader) ([]byte, error) {
	data := make([]byte, 0, min(firstRead, l.bytes+1))
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case len(data) > l.bytes:
			return data, fmt.Errorf("state is longer than %d bytes", l.bytes)
		case errors.Is(err, io.EOF):
			return data, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return data, l.stalled(len(data))
		case err != nil:
			return data, fmt.Errorf("read standard input: %w", err)
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

func (l limits) stalled(got int) error {
	return fmt.Errorf("standard input did not end within %v (%d bytes came): %w", l.wait, got, os.ErrDeadlineExceeded)
}

// Drain reads r to its end, within the limits of [Read], for exits that need
// no state: crun takes a hook that leaves its input unread for a failed one.
func Drain(r io.Reader) {
	_, _ = limits{maxState, stateWait}.read(r)
}
