package integration

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// migHost is a stand-in host of two GPUs with three MIG devices each: GPU
// instances 1, 2 and 3.
func migHost(t *testing.T) *lab.StandIn {
	t.Helper()
	h := lab.Host(t, lab.HostSpec{Driver: lab.MadeDriver(t, "535.261.03", 12020), GPUs: lab.GPUs(2, lab.A100)})
	h.MIG(t, 3)
	h.SMI(t, 3)
	return h
}

// capNode is the node of a capability minor.
func capNode(minor int) string { return fmt.Sprintf("/dev/nvidia-caps/nvidia-cap%d", minor) }

// privileged gives a bundle the right that the MIG variables ask for.
func privileged(s *specs.Spec) {
	s.Process.Capabilities.Bounding = append(slices.Clone(s.Process.Capabilities.Bounding), "CAP_SYS_ADMIN")
}

// ownRun is a /run for the hook alone.
const ownRun = "mount -t tmpfs none /run\n"

// TestMIG names one MIG device in each of the forms, under runc on cgroup v1 and
// v2: the nodes of its GPU, its GPU instance and its compute instance open (and
// find no driver), those of others do not.
func TestMIG(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := migHost(t)
	root := lab.Root(t, lab.Glibc)
	gi, ci := lab.MIGMinors(1, 2)
	otherGI, otherCI := lab.MIGMinors(1, 1)
	foreign, _ := lab.MIGMinors(0, 2)
	questions := []string{
		"open:/dev/nvidia1", "stat:/dev/nvidia0", "open:" + capNode(gi), "open:" + capNode(ci), "stat:" + capNode(otherGI), "stat:" + capNode(1),
	}
	want := map[string]syscall.Errno{
		"open:/dev/nvidia1": syscall.ENXIO, "stat:/dev/nvidia0": syscall.ENOENT,
		"open:" + capNode(gi): syscall.ENXIO, "open:" + capNode(ci): syscall.ENXIO,
		"stat:" + capNode(otherGI): syscall.ENOENT, "stat:" + capNode(1): syscall.ENOENT,
	}
	for _, minor := range []int{1, 2, otherGI, otherCI, foreign} {
		q := fmt.Sprintf("node:/tmp/cap%d:%d:%d", minor, lab.CapsMajor, minor)
		questions = append(questions, q)
		want[q] = syscall.EPERM
	}
	for _, c := range combinations() {
		if !strings.HasPrefix(c.name, "runc-v") {
			continue
		}
		for name, device := range map[string]string{
			"uuid": lab.MIGUUID(1, 1), "upper-case": strings.ToUpper(lab.MIGUUID(1, 1)),
			"old": "MIG-" + host.GPUs[1].UUID + "/2/0", "numbers": "1:1",
		} {
			t.Run(c.name+"-"+name, func(t *testing.T) {
				t.Parallel()
				b := lab.NewBundle(t, root, lab.Options{
					Host: host, Overlay: true, Env: []string{"NVIDIA_VISIBLE_DEVICES=" + device, "NVIDIA_DRIVER_CAPABILITIES=compute,utility"},
					Args: append([]string{"/bin/witness"}, questions...),
				})
				got := lab.Run(t, c.runtime(t), b, lab.Box{Cgroups: c.cgroups, Setup: ownRun})
				if got.Code != 0 {
					t.Fatalf("runc ended with %d: %s", got.Code, got.Stderr)
				}
				wantErrnos(t, got.Facts, want)
			})
		}
	}
	t.Cleanup(func() {
		if env := strings.TrimSpace(strings.ReplaceAll(host.Noted("smi-calls.env"), "PWD=/\n", "")); env != "" {
			t.Errorf("nvidia-smi was run with an environment: %q", env)
		}
	})
}

// TestMIGSelection plans what each request brings, or the error that it ends in.
func TestMIGSelection(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host, noSMI := migHost(t), lab.Host(t, lab.HostSpec{Driver: lab.MadeDriver(t, "535.261.03", 12020), GPUs: lab.GPUs(2, lab.A100)})
	noSMI.MIG(t, 3)
	remove(t, noSMI.Dir+"/usr/bin/nvidia-smi")
	root := lab.Root(t, lab.Glibc)
	all := []string{}
	for minor := range 2 {
		for gi := 1; gi <= 3; gi++ {
			a, b := lab.MIGMinors(minor, gi)
			all = append(all, capNode(a), capNode(b))
		}
	}
	gpu1 := slices.Clone(all[6:])
	tests := []struct {
		name       string
		host       *lab.StandIn
		env        []string
		privileged bool
		want       []string // capability nodes
		mig        int
		code       int
		says       string
	}{
		{name: "all", env: []string{"NVIDIA_VISIBLE_DEVICES=all"}, want: all, mig: 6},
		{name: "whole-gpu", env: []string{"NVIDIA_VISIBLE_DEVICES=1"}},
		{name: "gpu-and-device-of-another", env: []string{"NVIDIA_VISIBLE_DEVICES=1,0:2"}, want: all[4:6], mig: 1},
		{name: "twice", env: []string{"NVIDIA_VISIBLE_DEVICES=1:0," + lab.MIGUUID(1, 0)}, want: all[6:8], mig: 1},
		{
			name: "config-all", privileged: true, env: []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_MIG_CONFIG_DEVICES=all"},
			want: append([]string{capNode(1)}, all...), mig: 6,
		},
		{
			name: "monitor-of-one-gpu", privileged: true, env: []string{"NVIDIA_VISIBLE_DEVICES=1", "NVIDIA_MIG_MONITOR_DEVICES=all"},
			want: append([]string{capNode(2)}, gpu1...),
		},
		{
			name: "config-and-monitor", privileged: true,
			env:  []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_MIG_CONFIG_DEVICES=ALL", "NVIDIA_MIG_MONITOR_DEVICES=all"},
			want: append([]string{capNode(1), capNode(2)}, all...), mig: 6,
		},
		{
			name: "config-unprivileged", env: []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_MIG_CONFIG_DEVICES=all"},
			code: 11, says: "CAP_SYS_ADMIN",
		},
		{
			name: "monitor-unprivileged", env: []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_MIG_MONITOR_DEVICES=all"},
			code: 11, says: "CAP_SYS_ADMIN",
		},
		{
			name: "config-of-one", privileged: true, env: []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_MIG_CONFIG_DEVICES=0"},
			code: 11, says: "all devices or none",
		},
		{
			name: "config-with-single-device", privileged: true, env: []string{"NVIDIA_VISIBLE_DEVICES=1:0", "NVIDIA_MIG_CONFIG_DEVICES=all"},
			code: 11, says: "together with single MIG devices",
		},
		{name: "no-such-position", env: []string{"NVIDIA_VISIBLE_DEVICES=1:3"}, code: 11, says: "1:0 (gi 1, ci 0)"},
		{name: "no-such-instance", env: []string{"NVIDIA_VISIBLE_DEVICES=MIG-" + host.GPUs[0].UUID + "/9/0"}, code: 11, says: "no such MIG device"},
		{name: "no-such-uuid", env: []string{"NVIDIA_VISIBLE_DEVICES=" + lab.MIGUUID(9, 9)}, code: 11, says: "nvidia-smi -L lists no such MIG device"},
		{name: "no-nvidia-smi", host: noSMI, env: []string{"NVIDIA_VISIBLE_DEVICES=" + lab.MIGUUID(1, 1)}, code: 11, says: "nvidia-smi"},
		{name: "no-nvidia-smi-by-numbers", host: noSMI, env: []string{"NVIDIA_VISIBLE_DEVICES=1:1"}, want: all[8:10], mig: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := lab.Options{Host: host, Env: append(tt.env, "NVIDIA_DRIVER_CAPABILITIES=compute,utility")}
			if tt.host != nil {
				o.Host = tt.host
			}
			if tt.privileged {
				o.Edit = privileged
			}
			p := plannedInBox(t, lab.NewBundle(t, root, o))
			if p.Exit.Code != tt.code || !strings.Contains(p.Exit.Line, tt.says) {
				t.Fatalf("exit %d: %s; want %d with %q", p.Exit.Code, p.Exit.Line, tt.code, tt.says)
			}
			if tt.code != 0 {
				if p.Exit.Cure == "" {
					t.Errorf("no cure in %q", p.Exit.Line)
				}
				return
			}
			got := slices.DeleteFunc(nodePaths(p), func(n string) bool { return !strings.HasPrefix(n, "/dev/nvidia-caps/") })
			slices.Sort(got)
			want := append([]string{}, tt.want...)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("capability nodes (-want +got):\n%s", diff)
			}
			if len(p.MIG) != tt.mig {
				t.Errorf("MIG devices %+v, want %d", p.MIG, tt.mig)
			}
			wantRuleForEachNode(t, p)
		})
	}
}

// wantRuleForEachNode checks that a plan opens the nodes that it makes and no
// other.
func wantRuleForEachNode(t *testing.T, p hook.Plan) {
	t.Helper()
	nodes, rules := map[string]bool{}, map[string]bool{}
	for _, n := range p.DeviceNodes {
		nodes[fmt.Sprintf("%s %d:%d", n.Type, n.Major, n.Minor)] = true
	}
	for _, r := range p.DeviceRules {
		rules[fmt.Sprintf("%s %d:%d", r.Type, r.Major, r.Minor)] = true
	}
	if diff := cmp.Diff(nodes, rules); diff != "" {
		t.Errorf("rules are not those of the nodes (-nodes +rules):\n%s", diff)
	}
}

// TestMIGCache asks nvidia-smi once for two containers, and again when an
// instance has come.
func TestMIGCache(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := migHost(t)
	b := planBundle(t, host, lab.Root(t, lab.Glibc), "NVIDIA_VISIBLE_DEVICES="+lab.MIGUUID(1, 1))
	plan := b.PlanScript("json", "plan.json")
	count := func(script string) int {
		remove(t, host.Dir+"/run/smi-calls")
		if r := lab.InBox(t, lab.Machine, ownRun+script); r.Code != 0 {
			t.Fatalf("gpu-hook plan: %s", r.Stderr)
		}
		return strings.Count(host.Noted("smi-calls"), " -L\n")
	}
	if got := count(plan + plan); got != 1 {
		t.Errorf("nvidia-smi -L was run %d times for two containers, want 1", got)
	}
	again := fmt.Sprintf("mkdir -p %[1]s/gi4/ci0\n cp %[1]s/gi3/access %[1]s/gi4/\n cp %[1]s/gi3/ci0/access %[1]s/gi4/ci0/\n",
		host.Dir+"/proc/driver/nvidia/capabilities/gpu0/mig")
	if got := count(plan + again + plan); got != 2 {
		t.Errorf("nvidia-smi -L was run %d times with a change between two containers, want 2", got)
	}
}
