package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// BenchmarkWrapper measures what the wrapper costs above the runtime alone. The
// runtime is /bin/true, and each round runs both, one after the other: what the
// machine does besides weighs on both. "above-ms" is the median of the
// differences and "above-cpu-ms" the same for processor time, which a busy
// machine changes less; the budget is 5 ms.
func BenchmarkWrapper(b *testing.B) {
	host := lab.Host(b, lab.HostSpec{Driver: lab.MadeDriver(b, "535.261.03", 12020), GPUs: lab.GPUs(8, lab.A100)})
	for _, bench := range []struct {
		name string
		env  []string
		args []string // the command
	}{
		{"state", nil, []string{"state", "c1"}},
		{"create-no-GPU", nil, []string{"create", "--bundle", "BUNDLE", "c1"}},
		{"create-two-GPUs", askTwo(), []string{"create", "--bundle", "BUNDLE", "c1"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			bundle := lab.NewBundle(b, b.TempDir(), lab.Options{
				Host: host, Stages: []string{}, Config: "[runtime]\nruntimes = [\"true\"]\n", Hook: lab.Hook(b), Env: bench.env, Edit: large,
			})
			text, err := os.ReadFile(filepath.Join(bundle.Dir, "config.json"))
			if err != nil {
				b.Fatal(err)
			}
			// Docker and containerd keep bundles below /run, which is a tmpfs.
			dir, err := os.MkdirTemp("/dev/shm", "gpu-hook-bench-")
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { os.RemoveAll(dir) })
			config := filepath.Join(dir, "config.json")
			args := slices.Clone(bench.args)
			for i := range args {
				args[i] = strings.Replace(args[i], "BUNDLE", dir, 1)
			}
			with := append(append(slices.Clone(bundle.Hook), "runtime"), args...)
			var above, cpu []time.Duration
			for b.Loop() {
				if err := os.WriteFile(config, text, 0o644); err != nil {
					b.Fatal(err)
				}
				plain, plainCPU := timed(b, append([]string{"/bin/true"}, args...))
				took, tookCPU := timed(b, with)
				above, cpu = append(above, took-plain), append(cpu, tookCPU-plainCPU)
			}
			b.ReportMetric(median(above), "above-ms")
			b.ReportMetric(median(cpu), "above-cpu-ms")
			b.ReportMetric(float64(len(text))/1000, "config-kB")
		})
	}
}

func median(list []time.Duration) float64 {
	slices.Sort(list)
	return list[len(list)/2].Seconds() * 1000
}

func timed(b *testing.B, argv []string) (wall, cpu time.Duration) {
	b.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%q: %v: %s", argv, err, out)
	}
	return time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// large makes a config.json as long as those of engines, which have a seccomp
// profile and some thirty mounts.
func large(s *specs.Spec) {
	s.Linux.Seccomp = &specs.LinuxSeccomp{DefaultAction: specs.ActErrno}
	for i := range 400 {
		s.Linux.Seccomp.Syscalls = append(s.Linux.Seccomp.Syscalls, specs.LinuxSyscall{Names: []string{fmt.Sprintf("call_%d", i)}, Action: specs.ActAllow})
	}
	for i := range 30 {
		s.Mounts = append(s.Mounts, lab.Bind("/usr/share", fmt.Sprintf("/mnt/%d", i), "ro"))
	}
}
