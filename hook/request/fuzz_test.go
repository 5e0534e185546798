package request

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gpu-hook/gpu-hook/hook/config"
)

// check fails on results that contradict themselves.
func check(t *testing.T, r Request, err error) {
	t.Helper()
	if err != nil {
		if r.Source != "" || r.Devices != nil || err.Error() == "" {
			t.Errorf("Parse = %+v beside %v", r, err)
		}
		return
	}
	switch {
	case r.Source == "":
		t.Error("Parse: no source")
	case r.None != (len(r.Devices) == 0):
		t.Errorf("Parse: None %v and devices %q", r.None, r.Devices)
	case !slices.IsSorted(r.Capabilities) || !slices.IsSorted(r.IMEX):
		t.Errorf("Parse: not sorted: %q %v", r.Capabilities, r.IMEX)
	}
	seen := map[string]bool{}
	for _, d := range r.Devices {
		if d == "" || d != strings.TrimSpace(d) || seen[d] || strings.EqualFold(d, voidWord) {
			t.Errorf("Parse: device %q in %q", d, r.Devices)
		}
		seen[d] = true
	}
	for _, c := range r.Capabilities {
		if !slices.Contains(config.Capabilities(), c) {
			t.Errorf("Parse: capability %q", c)
		}
	}
}

func FuzzVisibleDevices(f *testing.F) {
	for _, seed := range []string{"all", "none", "void", "", "0,2", " 0 , 1 ", "0,0", "GPU-a,GPU-a,GPU-b", "0,none", ",", "nvidia.com/gpu=0", "MIG-x,0:1", "0000:01:00.0", "\x00,\xff", "nvidia.com/gpu= 0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		r, _, err := Parse(Input{Env: Env{"NVIDIA_VISIBLE_DEVICES=" + value}, Config: config.Default()})
		check(t, r, err)
		if strings.Trim(value, " ,") == "" && !errors.Is(err, ErrNotRequested) {
			t.Errorf("Parse(%q) = %v, want %v", value, err, ErrNotRequested)
		}
	})
}

func FuzzCapabilities(f *testing.F) {
	for _, seed := range []string{"", "all", "compute,utility", " video ,", "COMPUTE", "compute,x", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		r, _, err := Parse(Input{Env: Env{"NVIDIA_VISIBLE_DEVICES=0", "NVIDIA_DRIVER_CAPABILITIES=" + value}, Config: config.Default()})
		check(t, r, err)
	})
}

// FuzzParse puts any text in every place: lines are environment entries, and
// destinations of mounts and annotations at the same time.
func FuzzParse(f *testing.F) {
	f.Add("NVIDIA_VISIBLE_DEVICES=0\nNVIDIA_IMEX_CHANNELS=3\nodd", true)
	f.Add("/var/run/nvidia-container-devices/cdi/nvidia.com/gpu/0\n/var/run/nvidia-container-devices/imex/1", false)
	f.Add("gpu-hook/devices=0,none\ncdi.k8s.io/x=nvidia.com/gpu=0", false)
	f.Add("/var/run/nvidia-container-devices/cdi/ 0/0/0\n/var/run/nvidia-container-devices/ 1", false)
	f.Add("CUDA_VERSION=8.0\nNVIDIA_MIG_CONFIG_DEVICES=all\nSWARM=1", true)
	f.Fuzz(func(t *testing.T, text string, privileged bool) {
		lines := strings.Split(text, "\n")
		annotations := map[string]string{}
		for _, line := range lines {
			key, value, _ := strings.Cut(line, "=")
			annotations[key] = value
		}
		cfg := config.Default()
		cfg.AcceptVolumeMounts, cfg.SwarmResource = true, "SWARM"
		r, _, err := Parse(Input{Env: lines, Mounts: null(lines...), Annotations: annotations, Privileged: privileged, Config: cfg})
		check(t, r, err)
	})
}
