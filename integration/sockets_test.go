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

// daemonSockets are what the host's daemons listen on, as the container sees
// them.
func daemonSockets() []string {
	return []string{"/run/nvidia-fabricmanager/socket", "/run/nvidia-persistenced/socket", "/tmp/nvidia-mps"}
}

// TestSockets gives containers the sockets of the host's daemons where there are
// some. A missing one is a note in the plan, one of the wrong kind a warning;
// neither stops anything.
func TestSockets(t *testing.T) {
	t.Parallel()
	need.Root(t)
	root := lab.Root(t, lab.Glibc)
	all := func(t *testing.T, h *lab.StandIn) {
		h.Socket(t, "run/nvidia-persistenced/socket")
		h.Socket(t, "run/nvidia-fabricmanager/socket")
		h.Socket(t, "tmp/nvidia-mps/control")
	}
	for _, tt := range []struct {
		name, caps, config string
		host               func(*testing.T, *lab.StandIn)
		want               []string
		notes              int
		warns              bool
	}{
		{name: "all", caps: "compute,utility", host: all, want: daemonSockets()},
		{name: "utility", caps: "utility", host: all, want: daemonSockets()[:2]},
		{name: "compute", caps: "compute", host: all, want: daemonSockets()[2:]},
		{name: "graphics", caps: "graphics", host: all},
		{name: "none", caps: "compute,utility", host: func(*testing.T, *lab.StandIn) {}, notes: 3},
		{name: "var-run", caps: "utility", host: func(t *testing.T, h *lab.StandIn) {
			h.Socket(t, "var/run/nvidia-persistenced/socket")
		}, want: daemonSockets()[1:2], notes: 1},
		{name: "beside-driver-root", caps: "compute,utility", config: "[driver]\nroot = \"/run/nvidia/driver\"\n", host: func(t *testing.T, h *lab.StandIn) {
			all(t, h)
			intoDriverRoot(t, h)
		}, want: daemonSockets()},
		{name: "wrong-kind", caps: "utility", host: func(t *testing.T, h *lab.StandIn) {
			lab.Write(t, filepath.Join(h.Dir, "run/nvidia-persistenced/socket"), "no socket\n")
		}, notes: 2, warns: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host := madeHost(t)
			tt.host(t, host)
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Overlay: true, Config: tt.config, Env: []string{"NVIDIA_VISIBLE_DEVICES=1", "NVIDIA_DRIVER_CAPABILITIES=" + tt.caps},
				Args: append([]string{"/bin/witness"}, "stat:/run/nvidia-persistenced/socket", "stat:/run/nvidia-fabricmanager/socket",
					"stat:/tmp/nvidia-mps/control", "write:/tmp/nvidia-mps/client"),
			})
			p := plannedOK(t, b)
			var got []string
			for _, m := range p.Mounts {
				if slices.Contains(daemonSockets(), m.Target) {
					got = append(got, m.Target)
					if slices.Contains(m.Options, "ro") || !slices.Contains(m.Options, "noexec") {
						t.Errorf("options of %s: %v", m.Target, m.Options)
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("sockets (-want +got):\n%s", diff)
			}
			if len(p.Notes) != tt.notes || (len(p.Warnings) > 0) != (tt.warns || tt.caps == "graphics") {
				t.Errorf("notes %q and warnings %v, want %d notes", p.Notes, p.Warnings, tt.notes)
			}
			ran := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
			if ran.Code != 0 {
				t.Fatalf("runc ended with %d: %s", ran.Code, ran.Stderr)
			}
			for i, file := range []string{"/run/nvidia-fabricmanager/socket", "/run/nvidia-persistenced/socket", "/tmp/nvidia-mps/control"} {
				f, want := ran.Facts["stat:"+file], slices.Contains(tt.want, daemonSockets()[i])
				if want != (f.Errno == 0 && f.Type == syscall.S_IFSOCK) {
					t.Errorf("%s in the container: %+v", file, f)
				}
			}
			if f := ran.Facts["write:/tmp/nvidia-mps/client"]; slices.Contains(tt.want, "/tmp/nvidia-mps") && f.Errno != 0 {
				t.Errorf("MPS clients cannot write to the pipe directory: %+v", f)
			}
		})
	}
}

// TestFirmware gives GSP firmware to containers that can take it; for others it
// is left out, and they start.
func TestFirmware(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	place := "/lib/firmware/nvidia/" + host.Version + "/gsp_ga10x.bin"
	lab.Write(t, filepath.Join(host.Dir, place), "firmware\n")
	for _, tt := range []struct {
		name  string
		image func(t *testing.T, root string)
		want  string // what the file holds in the container, "" = not there
	}{
		{name: "plain", want: "firmware\n"},
		{name: "own-file", image: func(t *testing.T, root string) { lab.Write(t, filepath.Join(root, place), "the image's\n") }, want: "firmware\n"},
		{name: "link-out-of-the-root", image: func(t *testing.T, root string) { lab.Link(t, "../../../../../srv/outside", root+"/usr/lib/firmware") }},
		{name: "absolute-link", image: func(t *testing.T, root string) {
			lab.Link(t, "/srv/firmware", root+"/usr/lib/firmware")
			lab.Write(t, root+"/srv/firmware/x", "")
		}, want: "firmware\n"},
		{name: "loop", image: func(t *testing.T, root string) { lab.Link(t, "firmware", root+"/usr/lib/firmware") }},
		{name: "file-in-the-way", image: func(t *testing.T, root string) { lab.Write(t, root+"/usr/lib/firmware", "a file\n") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := lab.Root(t, lab.Glibc)
			if tt.image != nil {
				tt.image(t, root)
			}
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Overlay: true, Env: askAll(), Args: []string{"/bin/sh", "-c", "cat " + place + "; true"},
			})
			got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
			if got.Code != 0 || got.Stdout != tt.want {
				t.Errorf("runc ended with %d: %s\nfirmware: %q, want %q\n%s", got.Code, got.Stderr, got.Stdout, tt.want, got.Log)
			}
			if tt.want == "" && !strings.Contains(got.Log, "firmware") {
				t.Errorf("the log says nothing of the firmware:\n%s", got.Log)
			}
		})
	}
}
