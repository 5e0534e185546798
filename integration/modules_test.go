package integration

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// bootedHost is a host that has booted and run no CUDA program yet: the
// nvidia-uvm module is not loaded and has no nodes.
func bootedHost(t *testing.T) *lab.StandIn {
	t.Helper()
	h := madeHost(t)
	for _, node := range []string{"nvidia-uvm", "nvidia-uvm-tools"} {
		remove(t, filepath.Join(h.Dir, "dev", node))
	}
	devices := filepath.Join(h.Dir, "proc/devices")
	lab.Write(t, devices, strings.Replace(read(t, devices), "510 nvidia-uvm\n", "", 1))
	return h
}

// loads is a script's text that does what loading nvidia-uvm does to the host.
func loads(h *lab.StandIn) string {
	return fmt.Sprintf("sed -i 's/^237 /510 nvidia-uvm\\n237 /' %s/proc/devices\n", h.Dir)
}

// TestModules starts containers on a host without nvidia-uvm.
func TestModules(t *testing.T) {
	t.Parallel()
	need.Root(t)
	root := lab.Root(t, lab.Glibc)
	const allowed, forbidden = "load-kernel-modules = true\n", "load-kernel-modules = false\n"
	for _, tt := range []struct {
		name, config, caps string
		host               func(*lab.StandIn)
		calls              string // what the host's tools were run as
		code               int
		says               []string
		uvm                syscall.Errno // of opening the node
	}{
		{
			name: "modprobe", config: allowed, caps: "compute",
			host:  func(h *lab.StandIn) { h.Script(t, "usr/sbin/modprobe", "calls", loads(h)) },
			calls: "/usr/sbin/modprobe -- nvidia-uvm\n", uvm: syscall.ENXIO,
		},
		{
			name: "nvidia-modprobe-first", config: allowed, caps: "compute",
			host: func(h *lab.StandIn) {
				h.Script(t, "usr/bin/nvidia-modprobe", "calls", loads(h))
				h.Script(t, "usr/sbin/modprobe", "calls", "exit 1\n")
			},
			calls: "/usr/bin/nvidia-modprobe -u -c=0\n", uvm: syscall.ENXIO,
		},
		{
			name: "modprobe-after-nvidia-modprobe-failed", config: allowed, caps: "compute",
			host: func(h *lab.StandIn) {
				h.Script(t, "usr/bin/nvidia-modprobe", "calls", "exit 1\n")
				h.Script(t, "usr/sbin/modprobe", "calls", loads(h))
			},
			calls: "/usr/bin/nvidia-modprobe -u -c=0\n/usr/sbin/modprobe -- nvidia-uvm\n", uvm: syscall.ENXIO,
		},
		{
			name: "fails", config: allowed, caps: "compute",
			host:  func(h *lab.StandIn) { h.Script(t, "usr/sbin/modprobe", "calls", "echo no such module >&2\nexit 1\n") },
			calls: "/usr/sbin/modprobe -- nvidia-uvm\n",
			code:  15, says: []string{"no such module", "modprobe nvidia-uvm"},
		},
		{
			name: "says-yes-and-does-nothing", config: allowed, caps: "compute",
			host:  func(h *lab.StandIn) { h.Script(t, "usr/sbin/modprobe", "calls", "") },
			calls: "/usr/sbin/modprobe -- nvidia-uvm\n", code: 15, says: []string{"nvidia-uvm", "modprobe nvidia-uvm"},
		},
		{name: "no-tools", config: allowed, caps: "compute", host: func(*lab.StandIn) {}, code: 15, says: []string{"not found", "modprobe nvidia-uvm"}},
		{
			name: "forbidden", config: forbidden, caps: "compute",
			host: func(h *lab.StandIn) { h.Script(t, "usr/sbin/modprobe", "calls", loads(h)) },
			code: 15, says: []string{"nvidia-uvm: kernel module not loaded", "modprobe nvidia-uvm"},
		},
		{
			name: "not-needed", config: allowed, caps: "utility",
			host: func(h *lab.StandIn) { h.Script(t, "usr/sbin/modprobe", "calls", loads(h)) }, uvm: syscall.ENOENT,
		},
		{
			name: "loaded-without-nodes", config: forbidden, caps: "compute",
			host: func(h *lab.StandIn) { h.Major(t, 510, "nvidia-uvm") }, uvm: syscall.ENXIO,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host := bootedHost(t)
			tt.host(host)
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Overlay: true, Config: tt.config, Env: []string{"NVIDIA_VISIBLE_DEVICES=1", "NVIDIA_DRIVER_CAPABILITIES=" + tt.caps},
				Args: []string{"/bin/witness", "open:/dev/nvidia-uvm"},
			})
			got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
			if calls := strings.ReplaceAll(host.Noted("calls"), host.Dir, ""); calls != tt.calls {
				t.Errorf("the host's tools were run as %q, want %q", calls, tt.calls)
			}
			if env := strings.ReplaceAll(host.Noted("calls.env"), "PWD=/\n", ""); env != "" {
				t.Errorf("the host's tools were run with an environment: %q", env)
			}
			if tt.code != 0 {
				if got.Code == 0 || !strings.Contains(got.Log, fmt.Sprintf("code=%d ", tt.code)) {
					t.Errorf("runc ended with %d, want our code %d:\n%s", got.Code, tt.code, got.Log)
				}
				for _, word := range tt.says {
					if !strings.Contains(got.Stderr, word) {
						t.Errorf("the error does not say %q: %s", word, got.Stderr)
					}
				}
				return
			}
			if got.Code != 0 {
				t.Fatalf("runc ended with %d: %s", got.Code, got.Stderr)
			}
			wantErrnos(t, got.Facts, map[string]syscall.Errno{"open:/dev/nvidia-uvm": tt.uvm})
		})
	}
}

// TestStaleNodes has host nodes with other numbers than /proc/devices: the
// driver is believed, and the node is named.
func TestStaleNodes(t *testing.T) {
	t.Parallel()
	need.Root(t)
	host := madeHost(t)
	host.Node(t, "nvidia-uvm", 509, 0, 0o666)
	host.Node(t, "nvidia2", 195, 5, 0o600)
	remove(t, filepath.Join(host.Dir, "dev/nvidiactl"))
	lab.Write(t, filepath.Join(host.Dir, "dev/nvidiactl"), "no node\n")
	b := lab.NewBundle(t, lab.Root(t, lab.Glibc), lab.Options{
		Host: host, Overlay: true, Env: askTwo(),
		Args: []string{"/bin/witness", "stat:/dev/nvidia-uvm", "stat:/dev/nvidia2", "stat:/dev/nvidiactl", "open:/dev/nvidia-uvm", "node:/tmp/x:195:5"},
	})
	p := plannedOK(t, b)
	var stale []string
	for _, w := range p.Warnings {
		if w.Code == "node-mismatch" {
			stale = append(stale, w.Message)
		}
	}
	if len(stale) != 3 || !slices.Contains(codes(p), "node-mismatch") {
		t.Errorf("warnings: %v, want one for each stale node", p.Warnings)
	}
	got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
	for name, number := range map[string]uint64{"nvidia-uvm": unix.Mkdev(510, 0), "nvidia2": unix.Mkdev(195, 2), "nvidiactl": unix.Mkdev(195, 255)} {
		f := got.Facts["stat:/dev/"+name]
		if f.Errno != 0 || unix.Mkdev(uint32(f.Major), uint32(f.Minor)) != number || f.Mode != 0o666 {
			t.Errorf("%s in the container: %+v", name, f)
		}
	}
	wantErrnos(t, got.Facts, map[string]syscall.Errno{"open:/dev/nvidia-uvm": syscall.ENXIO, "node:/tmp/x:195:5": syscall.EPERM})
}
