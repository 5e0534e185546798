package bpf

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Not parallel: the limit is the process's. Kernels from 5.11 on do not count
// programs, so only the raising itself can be tried here.
func TestRaiseMemlock(t *testing.T) {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &was); err != nil {
		t.Fatal(err)
	}
	if was.Max == unix.RLIM_INFINITY || was.Max < 4096 {
		was.Max = 1 << 20
	}
	low := unix.Rlimit{Cur: 4096, Max: was.Max}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &low); err != nil {
		t.Fatal(err)
	}
	if !raiseMemlock() {
		t.Error("raiseMemlock: got false, want the limit raised")
	}
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &now); err != nil || now.Cur < was.Max {
		t.Errorf("limit: got %+v, %v, want %d at least", now, err, was.Max)
	}
	if raiseMemlock() {
		t.Error("raiseMemlock again: got true, want false: a retry would not help")
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, log, want string }{
		{"nothing", "", ""},
		{"zeros", "\x00\x00", ""},
		{"one", "R0 !read_ok\n\x00", "R0 !read_ok"},
		{"three", "0: exit\nR0 !read_ok\nprocessed 1 insns\n\x00rest", "R0 !read_ok; processed 1 insns"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := lastLines([]byte(tt.log)); got != tt.want {
				t.Errorf("lastLines: got %q, want %q", got, tt.want)
			}
		})
	}
}
