package engine

import (
	"os"
	"runtime"
	"testing"
)

// TestMain keeps tests off the first thread, which /proc/self is about: some
// join namespaces of their own on theirs.
func TestMain(m *testing.M) {
	runtime.LockOSThread()
	os.Exit(m.Run())
}
