package integration

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// withProc gives a container what the kernel module shows in every /proc: a
// tmpfs on /proc/driver, filled from the stand-in host by a hook that runs before
// ours. skip are names to leave out.
func withProc(t *testing.T, host *lab.StandIn, skip ...string) func(*specs.Spec) {
	t.Helper()
	script := filepath.Join(lab.Temp(t), "fill")
	text := "#!/bin/sh -e\nstate=$(cat)\npid=$(echo \"$state\" | sed 's/.*\"pid\": *\\([0-9]*\\).*/\\1/')\n" +
		"bundle=$(echo \"$state\" | sed 's/.*\"bundle\": *\"\\([^\"]*\\)\".*/\\1/')\n" +
		"nsenter -t $pid -m cp -a " + host.Dir + "/proc/driver/. $bundle/rootfs/proc/driver/\n"
	for _, name := range skip {
		text += "nsenter -t $pid -m rm -r $bundle/rootfs/proc/driver/nvidia/" + name + "\n"
	}
	lab.Write(t, script, text)
	return func(s *specs.Spec) {
		s.Mounts = append(s.Mounts, specs.Mount{Destination: "/proc/driver", Type: "tmpfs", Source: "tmpfs", Options: []string{"mode=555"}})
		fill := specs.Hook{Path: "/bin/sh", Args: []string{"sh", script}, Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}}
		s.Hooks.Prestart = append([]specs.Hook{fill}, s.Hooks.Prestart...)
	}
}

// showProc prints every file below /proc/driver/nvidia, and tries to write.
const showProc = `
cd /proc/driver/nvidia
find . -type f | while read f; do echo "FILE $f"; cat $f; done
echo END
grep -c " /proc/driver/nvidia" /proc/self/mountinfo | sed "s/^/MOUNTS /"
echo 1 >params && echo WRITABLE params
echo 1 >gpus/x && echo WRITABLE gpus
true
`

// procFiles reads what showProc printed.
func procFiles(out string) map[string]string {
	files := map[string]string{}
	head, _, _ := strings.Cut(out, "END\n")
	for block := range strings.SplitSeq(head, "FILE ./") {
		if name, text, ok := strings.Cut(block, "\n"); ok {
			files[name] = text
		}
	}
	return files
}

// TestProc runs containers in whose /proc the driver shows itself. In every mode
// but "off" params says 0 and has every other byte; in "gpus" only the
// container's GPUs and MIG devices are in sight. A second run changes nothing.
func TestProc(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := migHost(t)
	lab.Write(t, host.Dir+"/proc/driver/nvidia/params", oddParams)
	root := lab.Root(t, lab.Glibc)
	bus := func(i int) string { return "gpus/" + host.GPUs[i].BusID + "/information" }
	always := []string{"params", "version"}
	var everything []string
	for name := range lab.Tree(t, host.Dir+"/proc/driver/nvidia") {
		if strings.HasSuffix(name, "/access") || strings.HasSuffix(name, "/information") || strings.HasPrefix(name, "capabilities/mig/") {
			everything = append(everything, name)
		}
	}
	everything = slices.Compact(slices.Sorted(slices.Values(append(everything, always...))))
	device := []string{"capabilities/gpu1/mig/gi2/access", "capabilities/gpu1/mig/gi2/ci0/access"}
	masked := strings.Replace(oddParams, "\nModifyDeviceFiles: 1", "\nModifyDeviceFiles: 0", 1)
	tests := []struct {
		name, mode string
		devices    string
		env        []string
		skip       []string
		edit       func(*specs.Spec)
		params     string
		want       []string
	}{
		{name: "params", mode: "params", devices: "1", params: masked, want: everything},
		{name: "off", mode: "off", devices: "1", params: oddParams, want: everything},
		{name: "gpus", mode: "gpus", devices: "1", params: masked, want: append([]string{bus(1)}, always...)},
		{name: "gpus-all", mode: "gpus", devices: "all", params: masked, want: slices.DeleteFunc(slices.Clone(everything), func(n string) bool {
			return strings.HasPrefix(n, "capabilities/mig/")
		})},
		{name: "gpus-none", mode: "gpus", devices: "none", params: masked, want: always},
		{name: "gpus-mig", mode: "gpus", devices: "1:1", params: masked, want: slices.Concat(device, []string{bus(1)}, always)},
		{
			name: "gpus-mig-config", mode: "gpus", devices: "all", env: []string{"NVIDIA_MIG_CONFIG_DEVICES=all"}, edit: privileged,
			params: masked, want: everything,
		},
		{name: "no-params", mode: "gpus", devices: "1", skip: []string{"params"}, want: slices.DeleteFunc(slices.Clone(everything), func(n string) bool { return n == "params" })},
		{name: "no-gpu-directory", mode: "gpus", devices: "1", skip: []string{"gpus"}, params: masked, want: always},
		{
			name: "no-capabilities", mode: "gpus", devices: "1:1", skip: []string{"capabilities/gpu1"}, params: masked,
			want: append([]string{bus(1)}, always...),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fill := withProc(t, host, tt.skip...)
			mounts := map[int]string{}
			for _, stages := range [][]string{{"prestart"}, {"prestart", "createRuntime"}} {
				b := lab.NewBundle(t, root, lab.Options{
					Host: host, Overlay: true, Stages: stages, Args: []string{"/bin/sh", "-c", showProc},
					Env:    append(tt.env, "NVIDIA_VISIBLE_DEVICES="+tt.devices, "NVIDIA_DRIVER_CAPABILITIES=compute,utility"),
					Config: "[mounts]\nproc = \"" + tt.mode + "\"\n",
					Edit: func(s *specs.Spec) {
						fill(s)
						if tt.edit != nil {
							tt.edit(s)
						}
					},
				})
				got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
				if got.Code != 0 {
					t.Fatalf("%v: runc ended with %d: %s\n%s", stages, got.Code, got.Stderr, got.Log)
				}
				mounts[len(stages)] = lines(got.Stdout, "MOUNTS ")
				wantProc(t, host, got.Stdout, tt.params, tt.want)
				if tt.params == masked && strings.Contains(got.Stdout, "WRITABLE params") {
					t.Error("the container can write to its params")
				}
			}
			if mounts[1] != mounts[2] {
				t.Errorf("a second run changed the mounts: %s, then %s", mounts[1], mounts[2])
			}
		})
	}
}

// wantProc compares what a container sees below /proc/driver/nvidia.
func wantProc(t *testing.T, host *lab.StandIn, out, params string, want []string) {
	t.Helper()
	files := procFiles(out)
	if files["params"] != params {
		t.Errorf("params is %q, want %q", files["params"], params)
	}
	var names []string
	for name, text := range files {
		names = append(names, name)
		if name != "params" && text != read(t, filepath.Join(host.Dir, "proc/driver/nvidia", name)) {
			t.Errorf("%s is %q", name, text)
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(names))); diff != "" {
		t.Errorf("files in sight (-want +got):\n%s", diff)
	}
}

// oddParams has a line that only ends like the one that matters, and bytes that
// a careless copy would lose.
const oddParams = "ResmanDebugLevel: 4294967295\nNotModifyDeviceFiles: 1\nModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\n" +
	"DeviceFileMode: 438\nRegistryDwords: \"PerfLevelSrc=0x2222\"\n\ttab and trailing blanks  \nno line feed at the end"

// TestProcNote plans for a container without the driver's files in its /proc,
// as on a machine without the module: that is a note.
func TestProcNote(t *testing.T) {
	t.Parallel()
	p := plannedOK(t, planBundle(t, lab.Host(t, lab.HostSpec{
		Driver: lab.MadeDriver(t, "535.261.03", 12020), GPUs: lab.GPUs(1, lab.A100), NoNodes: true,
	}), lab.Root(t, lab.Glibc), askAll()...))
	if p.Proc == nil || p.Proc.Note != "the container's /proc has no /proc/driver/nvidia/params" {
		t.Errorf("proc: %+v, want a note", p.Proc)
	}
	if got := codes(p); len(got) != 0 {
		t.Errorf("warnings: %v, want none", p.Warnings)
	}
}
