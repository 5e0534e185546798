package integration

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// TestMain builds gpu-hook once for all tests.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if dir := os.Getenv(programsVar); dir != "" {
		return printPrograms(dir)
	}
	return lab.WithHook(m.Run)
}

// combination is a runtime on a cgroup layout.
type combination struct {
	name    string
	runtime func(lab.T) lab.Runtime
	cgroups lab.Cgroups
}

// combinations are all that the tests know. crun 1.8 starts no container on a
// mixture of cgroup v1 and v2.
func combinations() []combination {
	return []combination{
		{"runc-v1", lab.Runc, lab.V1},
		{"runc-machine", lab.Runc, lab.Machine},
		{"runc-v2", lab.Runc, lab.V2},
		{"module-v1", lab.RuncModule, lab.V1},
		{"module-v2", lab.RuncModule, lab.V2},
		{"crun-v1", lab.Crun, lab.V1},
	}
}

// host535 is a stand-in host with 8 GPUs and all files of driver branch 535.
func host535(t *testing.T, layout lab.Layout) *lab.StandIn {
	t.Helper()
	return lab.Host(t, lab.HostSpec{Driver: lab.DriverFiles(t, "535"), Layout: layout, GPUs: lab.GPUs(8, lab.A100)})
}

// madeHost is a stand-in host with a driver of our own making: nothing is
// downloaded for it.
func madeHost(t *testing.T) *lab.StandIn {
	t.Helper()
	return lab.Host(t, lab.HostSpec{Driver: lab.MadeDriver(t, "535.261.03", 12020), GPUs: lab.GPUs(8, lab.A100)})
}

// askTwo asks for the first and the third GPU.
func askTwo(more ...string) []string {
	return append([]string{"NVIDIA_VISIBLE_DEVICES=0,2", "NVIDIA_DRIVER_CAPABILITIES=compute,utility,video"}, more...)
}

// witnessOf runs the witness with questions and then a shell line.
func witnessOf(questions []string, then string) []string {
	return []string{"/bin/sh", "-c", "/bin/witness " + strings.Join(questions, " ") + "\n" + then}
}

// wantErrnos compares the errno of each question with what it should be.
func wantErrnos(t *testing.T, facts lab.Facts, want map[string]syscall.Errno) {
	t.Helper()
	got := map[string]syscall.Errno{}
	for question := range want {
		fact, ok := facts[question]
		if !ok {
			t.Errorf("the witness was not asked %s", question)
			continue
		}
		got[question] = syscall.Errno(fact.Errno)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errno by question (-want +got):\n%s", diff)
	}
}

// wantUnchanged compares two descriptions of a tree.
func wantUnchanged(t *testing.T, what string, before, after map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("%s changed (-before +after):\n%s", what, diff)
	}
}

// thirdGPU is a shell line that says what lies at the third GPU's node, which
// every test here asks for; gpu2 is what it says when the hook has done its work.
const (
	thirdGPU = "stat -c '%F %t:%T %a' $ROOT/dev/nvidia2 2>&1\n"
	gpu2     = "character special file c3:2 666\n"
)

// wantOneLine checks the form of a refusal: nothing on stdout, one line on
// stderr, one of the codes.
func wantOneLine(t *testing.T, r lab.Result, codes ...int) {
	t.Helper()
	if !slices.Contains(codes, r.Code) {
		t.Errorf("exit code %d, want one of %v; stderr: %s", r.Code, codes, r.Stderr)
	}
	if r.Stdout != "" {
		t.Errorf("stdout %q, want nothing", r.Stdout)
	}
	line, rest, _ := strings.Cut(r.Stderr, "\n")
	if rest != "" || !strings.HasPrefix(line, "gpu-hook: ") {
		t.Errorf("stderr %q, want one line that starts with \"gpu-hook: \"", r.Stderr)
	}
	if len(line) > 2000 {
		t.Errorf("stderr has a line of %d bytes, want less than 2000", len(line))
	}
	for _, c := range line {
		if c < ' ' || c == 0x7f {
			t.Errorf("stderr %q has control characters", line)
			break
		}
	}
}
