package integration

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// features are the variables that ask for more nodes, and what they bring.
func features() []struct {
	variable, warns string
	want            []string
} {
	return []struct {
		variable, warns string
		want            []string
	}{
		{"NVIDIA_GDS", "no-gds", []string{"/dev/nvidia-fs0", "/dev/nvidia-fs1"}},
		{"NVIDIA_MOFED", "no-mofed", []string{"/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0"}},
		{"NVIDIA_GDRCOPY", "no-gdrcopy", []string{"/dev/gdrdrv"}},
		{"NVIDIA_NVSWITCH", "no-nvswitch", []string{"/dev/nvidia-nvswitch0", "/dev/nvidia-nvswitchctl"}},
	}
}

// TestFeatures asks for each feature on hosts that have its nodes in /dev, in
// the driver root's /dev, and nowhere.
func TestFeatures(t *testing.T) {
	t.Parallel()
	need.Root(t)
	root := lab.Root(t, lab.Glibc)
	with, without, contained := madeHost(t), madeHost(t), madeHost(t)
	with.FeatureNodes(t, "dev")
	intoDriverRoot(t, contained)
	contained.FeatureNodes(t, "run/nvidia/driver/dev")
	base := nodePaths(plannedOK(t, planBundle(t, with, root, askAll()...)))
	for _, f := range features() {
		for _, tt := range []struct {
			name, value, devices, config string
			host                         *lab.StandIn
			gets, warns                  bool
		}{
			{name: "enabled", value: "enabled", devices: "all", host: with, gets: true},
			{name: "in-driver-root", value: "enabled", devices: "all", host: contained, config: "[driver]\nroot = \"/run/nvidia/driver\"\n", gets: true},
			{name: "other-word", value: "true", devices: "all", host: with},
			{name: "no-gpu", value: "enabled", devices: "none", host: with},
			{name: "no-node", value: "enabled", devices: "all", host: without, warns: true},
		} {
			t.Run(strings.TrimPrefix(f.variable, "NVIDIA_")+"-"+tt.name, func(t *testing.T) {
				t.Parallel()
				p := plannedOK(t, lab.NewBundle(t, root, lab.Options{
					Host: tt.host, Config: tt.config,
					Env: []string{"NVIDIA_VISIBLE_DEVICES=" + tt.devices, "NVIDIA_DRIVER_CAPABILITIES=compute,utility", f.variable + "=" + tt.value},
				}))
				var want []string
				if tt.gets {
					want = f.want
				}
				got := slices.DeleteFunc(nodePaths(p), func(n string) bool { return slices.Contains(base, n) })
				slices.Sort(got)
				if diff := cmp.Diff(want, append([]string(nil), got...)); diff != "" {
					t.Errorf("nodes (-want +got):\n%s", diff)
				}
				if slices.Contains(codes(p), f.warns) != tt.warns {
					t.Errorf("warnings: %v", p.Warnings)
				}
				wantRuleForEachNode(t, p)
			})
		}
	}
}

// intoDriverRoot moves a host's driver files to where a driver container has
// them.
func intoDriverRoot(t *testing.T, h *lab.StandIn) {
	t.Helper()
	for _, name := range []string{"usr", "etc", "lib", "lib64", "bin", "sbin"} {
		move(t, filepath.Join(h.Dir, name), filepath.Join(h.Dir, "run/nvidia/driver", name))
	}
}

// TestGDSFiles gives a container with GPUDirect Storage the library's
// configuration and udev's data base, from the driver root or from the host, and
// read-only.
func TestGDSFiles(t *testing.T) {
	t.Parallel()
	need.Root(t)
	root := lab.Root(t, lab.Glibc)
	for _, tt := range []struct{ name, driverRoot, dir, config string }{
		{name: "host"},
		{name: "driver-root", driverRoot: "/run/nvidia/driver", dir: "run/nvidia/driver", config: "[driver]\nroot = \"/run/nvidia/driver\"\n"},
		{name: "host-beside-driver-root", driverRoot: "/run/nvidia/driver", config: "[driver]\nroot = \"/run/nvidia/driver\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host := madeHost(t)
			if tt.driverRoot != "" {
				intoDriverRoot(t, host)
			}
			host.FeatureNodes(t, "dev")
			lab.Write(t, filepath.Join(host.Dir, tt.dir, "etc/cufile.json"), "{}\n")
			lab.Write(t, filepath.Join(host.Dir, tt.dir, "run/udev/data/b8:0"), "udev\n")
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Overlay: true, Env: askAll("NVIDIA_GDS=enabled"), Config: tt.config,
				Args: witnessOf([]string{"open:/dev/nvidia-fs1", "write:/run/udev/data/x", "write:/etc/cufile.json"}, "cat /etc/cufile.json /run/udev/data/b8:0"),
			})
			got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
			if got.Code != 0 || !strings.HasSuffix(got.Stdout, "{}\nudev\n") {
				t.Errorf("runc ended with %d: %s\n%s\n%s", got.Code, got.Stderr, got.Stdout, got.Log)
			}
			wantErrnos(t, got.Facts, map[string]syscall.Errno{
				"open:/dev/nvidia-fs1": syscall.ENXIO, "write:/run/udev/data/x": syscall.EROFS, "write:/etc/cufile.json": syscall.EROFS,
			})
		})
	}
}
