package integration

import (
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// askVolumes asks for devices the way a cluster's device plug-in does.
func askVolumes(devices ...string) []specs.Mount {
	var out []specs.Mount
	for _, d := range devices {
		out = append(out, specs.Mount{Source: "/dev/null", Destination: "/var/run/nvidia-container-devices/" + d, Type: "bind", Options: []string{"bind"}})
	}
	return out
}

// TestIMEX asks for IMEX channels in each way, rightly and wrongly.
func TestIMEX(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := lab.Host(t, lab.HostSpec{Driver: lab.MadeDriver(t, "535.261.03", 12020), GPUs: lab.GPUs(1, lab.A100)})
	host.IMEX(t, 0, 7, 2048)
	plain := madeHost(t)
	root := lab.Root(t, lab.Glibc)
	tests := []struct {
		name   string
		host   *lab.StandIn
		env    []string
		mounts []specs.Mount
		want   []string
		warns  string
		code   int
		says   string
	}{
		{name: "none", env: []string{"NVIDIA_VISIBLE_DEVICES=0"}},
		{name: "two", env: []string{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_IMEX_CHANNELS=2048, 0"}, want: []string{"channel0", "channel2048"}},
		{name: "twice", env: []string{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_IMEX_CHANNELS=7,7,,07"}, want: []string{"channel7"}},
		{name: "all-gives-none", env: []string{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_IMEX_CHANNELS=all"}, warns: "imex-all-ignored"},
		{name: "old-image-inherits-none", env: []string{"CUDA_VERSION=11.8.0"}},
		{name: "all-gpus-bring-none", env: []string{"NVIDIA_VISIBLE_DEVICES=all"}},
		{name: "no-gpu-no-channel", env: []string{"NVIDIA_VISIBLE_DEVICES=none", "NVIDIA_IMEX_CHANNELS=7"}, want: []string{"channel7"}},
		{name: "volume", mounts: askVolumes("0", "imex/7"), want: []string{"channel7"}},
		{
			name: "volume-before-env", env: []string{"NVIDIA_IMEX_CHANNELS=0"}, mounts: askVolumes("0", "imex/2048"), want: []string{"channel2048"},
		},
		{name: "word", env: []string{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_IMEX_CHANNELS=0,2048,x"}, code: 11, says: `"x"`},
		{name: "negative", env: []string{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_IMEX_CHANNELS=-1"}, code: 11, says: "no IMEX channel"},
		{name: "hexadecimal", env: []string{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_IMEX_CHANNELS=0x7"}, code: 11, says: "no IMEX channel"},
		{name: "too-high", env: []string{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_IMEX_CHANNELS=1048576"}, code: 11, says: "1048576"},
		{name: "highest-without-node", env: []string{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_IMEX_CHANNELS=1048575"}, code: 11, says: "no such file"},
		{name: "volume-word", mounts: askVolumes("0", "imex/x"), code: 11, says: "no IMEX channel"},
		{name: "no-node", env: []string{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_IMEX_CHANNELS=1"}, code: 11, says: "channel1: no such file"},
		{name: "no-module", host: plain, env: []string{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_IMEX_CHANNELS=0"}, code: 11, says: "the driver has no IMEX channels"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := lab.Options{Host: host, Env: tt.env, Mounts: tt.mounts, Config: "accept-volume-mounts = true\n" + lab.NoCgroups}
			if tt.host != nil {
				o.Host = tt.host
			}
			p := planned(t, lab.NewBundle(t, root, o))
			if p.Exit.Code != tt.code || !strings.Contains(p.Exit.Line, tt.says) || (tt.code != 0) != (p.Exit.Cure != "") {
				t.Fatalf("exit %d: %s; want %d with %q and a cure", p.Exit.Code, p.Exit.Line, tt.code, tt.says)
			}
			var got []string
			for _, n := range nodePaths(p) {
				if dir, name := path.Split(n); dir == "/dev/nvidia-caps-imex-channels/" {
					got = append(got, name)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("channels (-want +got):\n%s", diff)
			}
			if tt.warns != "" && !slices.Contains(codes(p), tt.warns) {
				t.Errorf("warnings %v, want %s", codes(p), tt.warns)
			}
		})
	}
	t.Run("run", func(t *testing.T) {
		t.Parallel()
		const channel = "/dev/nvidia-caps-imex-channels/channel"
		b := lab.NewBundle(t, root, lab.Options{
			Host: host, Overlay: true, Env: askAll("NVIDIA_IMEX_CHANNELS=7"),
			Args: []string{"/bin/witness", "open:" + channel + "7", "stat:" + channel + "0", "node:/tmp/x:235:0"},
		})
		got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
		wantErrnos(t, got.Facts, map[string]syscall.Errno{
			"open:" + channel + "7": syscall.ENXIO, "stat:" + channel + "0": syscall.ENOENT, "node:/tmp/x:235:0": syscall.EPERM,
		})
	})
}
