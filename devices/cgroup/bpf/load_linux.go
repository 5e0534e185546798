package bpf

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

type loadAttr struct {
	typ      uint32
	count    uint32
	insns    unsafe.Pointer
	license  unsafe.Pointer
	logLevel uint32
	logSize  uint32
	log      unsafe.Pointer
	kernel   uint32
	flags    uint32
	name     [16]byte
	_        [16]byte
}

// Load loads a device program from encoded instructions. The name has at most
// 15 letters, digits or underscores. Where the verifier refuses, its last words
// are in the error. No helper is called, so no particular licence is needed; the
// expected attach type is left 0, which is what the kernel checks for this type.
func Load(name string, text []byte) (*Program, error) {
	fd, err := load(name, text, nil)
	if errors.Is(err, unix.EPERM) && raiseMemlock() {
		fd, err = load(name, text, nil)
	}
	if err == nil {
		return describe(fd)
	}
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EACCES) {
		log := make([]byte, maxVerifierText)
		if again, _ := load(name, text, log); again >= 0 {
			return describe(again)
		}
		if words := lastLines(log); words != "" {
			return nil, fmt.Errorf("load device program: %w (%.300s)", err, words)
		}
	}
	return nil, fmt.Errorf("load device program: %w", err)
}

func load(name string, text, log []byte) (int, error) {
	license := []byte("Apache-2.0\x00")
	a := loadAttr{
		typ: progTypeDevice, count: uint32(len(text) / 8),
		insns: unsafe.Pointer(unsafe.SliceData(text)), license: unsafe.Pointer(&license[0]),
	}
	copy(a.name[:len(a.name)-1], name)
	if log != nil {
		a.logLevel, a.logSize, a.log = 1, uint32(len(log)), unsafe.Pointer(&log[0])
	}
	return call(cmdProgLoad, unsafe.Pointer(&a), unsafe.Offsetof(a.name)+16)
}

// raiseMemlock lifts the limit on locked memory that kernels before 5.11
// (where memory cgroups took over)
// count programs against, and says whether anything changed. The limit of the
// hook's own process is all that changes.
func raiseMemlock() bool {
	var was unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &was) != nil || was.Cur == unix.RLIM_INFINITY {
		return false
	}
	all := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if unix.Setrlimit(unix.RLIMIT_MEMLOCK, &all) == nil {
		return true
	}
	// Without CAP_SYS_RESOURCE only up to the hard limit.
	return was.Cur < was.Max && unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: was.Max, Max: was.Max}) == nil
}

// lastLines returns the end of a verifier log in one line.
func lastLines(log []byte) string {
	if n := bytes.IndexByte(log, 0); n >= 0 {
		log = log[:n]
	}
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-2):], []byte("; ")))
}
