package wrapper

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/hook/fault"
)

// The test program plays three parts: the tests, the wrapper and the runtime.
const (
	wrapperVar = "GPUHOOK_TEST_WRAPPER" // the wrapper, with this configuration file and host root
	runDirVar  = "GPUHOOK_TEST_RUNDIR"  // of the wrapper's records
	recordVar  = "GPUHOOK_TEST_RECORD"  // the runtime, which writes what it was given to this file
)

// TestMain chooses the part. The wrapper's part comes first: the runtime has
// the same environment.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(wrapperVar) != "" && os.Args[0] == "gpu-hook":
		os.Exit(playWrapper())
	case os.Getenv(recordVar) != "":
		os.Exit(playRuntime())
	default:
		os.Exit(m.Run())
	}
}

func playWrapper() int {
	var o struct{ Config, HostRoot string }
	err := json.Unmarshal([]byte(os.Getenv(wrapperVar)), &o)
	if err == nil {
		self, _ := os.Executable()
		r := Runner{Hook: hook.Options{ConfigPath: o.Config, HostRoot: o.HostRoot}, Self: self, RunDir: os.Getenv(runDirVar)}
		err = r.Run(tContext(), os.Args[1:])
	}
	fmt.Fprintln(os.Stderr, fault.Line(err))
	return int(fault.CodeOf(err))
}

// seen is what a runtime sees of its start.
type seen struct {
	Args   []string
	Env    []string
	Dir    string
	PID    int
	Death  int // PR_GET_PDEATHSIG
	Umask  int
	Files  uint64 // RLIMIT_NOFILE, soft
	Extra  string // what can be read from file descriptor 3
	Stdin  string
	Parent int
}

func playRuntime() int {
	r := seen{Args: os.Args, Env: os.Environ(), PID: os.Getpid(), Parent: os.Getppid(), Umask: unix.Umask(0)}
	r.Dir, _ = os.Getwd()
	r.Death = deathSignal()
	var limit unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &limit) == nil {
		r.Files = limit.Cur
	}
	buf := make([]byte, 4096)
	if n, _ := unix.Read(3, buf); n > 0 {
		r.Extra = string(buf[:n])
	}
	if n, _ := unix.Read(0, buf); n > 0 {
		r.Stdin = string(buf[:n])
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(os.Getenv(recordVar), text, 0o600)
	}
	if err != nil {
		return 99
	}
	return 42
}
