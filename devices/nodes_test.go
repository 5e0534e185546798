package devices

import (
	"errors"
	"strings"
	"testing"
)

// codes lists the codes of warnings.
func codes(warnings []Warning) []string {
	var list []string
	for _, w := range warnings {
		list = append(list, w.Code)
	}
	return list
}

// short describes nodes in one line each, so that a test's want is readable.
func short(nodes []Node) []string {
	var list []string
	for _, n := range nodes {
		list = append(list, n.String()+" "+n.Gate)
	}
	return list
}

func TestNodes(t *testing.T) {
	t.Parallel()
	h := stand(t, three("dir sys/module/nvidia_modeset")...)
	inv := inventory(t, h)
	control := "/dev/nvidiactl (c 195:255) control"
	gpu0, gpu2 := "/dev/nvidia0 (c 195:0) gpu", "/dev/nvidia2 (c 195:2) gpu"
	uvm, tools := "/dev/nvidia-uvm (c 510:0) compute", "/dev/nvidia-uvm-tools (c 510:1) compute"
	for _, tc := range []struct {
		name  string
		names []string
		w     Want
		want  []string
	}{
		{"none", nil, Want{}, []string{control}},
		{"utility", []string{"0"}, Want{}, []string{control, gpu0}},
		{"compute", []string{"0", "2"}, Want{Compute: true}, []string{control, gpu0, gpu2, uvm, tools}},
		{"video", []string{"2"}, Want{Video: true}, []string{control, gpu2, uvm, tools}},
		{"display", []string{"0"}, Want{Display: true}, []string{control, gpu0, "/dev/nvidia-modeset (c 195:254) display"}},
		{"graphics", []string{"0"}, Want{Graphics: true}, []string{control, gpu0, "/dev/nvidia-modeset (c 195:254) graphics"}},
		{"both", []string{"0"}, Want{Graphics: true, Display: true}, []string{control, gpu0, "/dev/nvidia-modeset (c 195:254) display"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			sel, err := inv.Select(tc.names, everything)
			if err != nil {
				t.Fatal(err)
			}
			nodes, warnings, err := inv.Nodes(h, sel.GPUs, tc.w)
			if err != nil {
				t.Fatalf("Nodes() = %v", err)
			}
			same(t, "Nodes", short(nodes), tc.want)
			same(t, "warnings", codes(warnings), []string(nil))
			for _, n := range nodes {
				if n.Mode != 0o660 || n.GID != 44 || n.Host != "" {
					t.Errorf("%v has mode %o, group %d, host %q, want those of params and no host node", n, n.Mode, n.GID, n.Host)
				}
			}
		})
	}
}

func TestNodesMissingModules(t *testing.T) {
	t.Parallel()
	const uvmCure = "load it with: modprobe nvidia-uvm"
	h := stand(t, three(`file proc/devices Character devices:\n195 nvidia-frontend\n`)...)
	inv := inventory(t, h)
	_, _, err := inv.Nodes(h, inv.GPUs[:1], Want{Compute: true})
	var missing *ModuleError
	if !errors.As(err, &missing) || missing.Module != "nvidia-uvm" || missing.Cure() != uvmCure {
		t.Errorf("Nodes(compute) = %v, want a ModuleError that says %q", err, uvmCure)
	}
	for _, tc := range []struct {
		name string
		gpus []GPU
		w    Want
		want []string
	}{
		{"no-gpu", nil, Want{Compute: true}, []string{"no-uvm"}},
		{"video", inv.GPUs[:1], Want{Video: true}, []string{"no-uvm"}},
		{"display", inv.GPUs[:1], Want{Display: true}, []string{"no-modeset"}},
		{"utility", inv.GPUs[:1], Want{}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			nodes, warnings, err := inv.Nodes(h, tc.gpus, tc.w)
			if err != nil {
				t.Fatalf("Nodes() = %v", err)
			}
			same(t, "warnings", codes(warnings), tc.want)
			if len(nodes) != 1+len(tc.gpus) {
				t.Errorf("Nodes() = %v, want nvidiactl and the GPUs", nodes)
			}
			for _, w := range warnings {
				if !strings.Contains(w.Message, "modprobe") {
					t.Errorf("warning %q has no cure", w.Message)
				}
			}
		})
	}
}

func TestNodesRefusesOddMinor(t *testing.T) {
	t.Parallel()
	for _, minor := range []int{NoMinor, 248, 254, 255} {
		var broken *BrokenDeviceError
		nodes, _, err := Inventory{}.Nodes(Host{}, []GPU{{Minor: minor}}, Want{})
		if !errors.As(err, &broken) || nodes != nil {
			t.Errorf("Nodes() of minor %d = %v, %v, want a BrokenDeviceError", minor, nodes, err)
		}
	}
}

func TestNodesFromHost(t *testing.T) {
	t.Parallel()
	h := stand(t, three(
		"node dev/nvidiactl 195 255 666 0 0",
		"node dev/nvidia0 195 0 640 7 44",
		"node dev/nvidia1 195 9 600 0 0",
		"file dev/nvidia2 x",
		"node dev/nvidia-uvm 511 0 666 0 0",
		"node dev/nvidia-modeset 195 254 666 0 0",
	)...)
	inv := inventory(t, h)
	nodes, warnings, err := inv.Nodes(h, inv.GPUs, Want{Compute: true, Display: true})
	if err != nil {
		t.Fatalf("Nodes() = %v", err)
	}
	dev := h.Dev
	same(t, "Nodes", nodes, []Node{
		{"/dev/nvidiactl", dev + "/nvidiactl", 195, 255, 0o666, 0, 0, "control"},
		{"/dev/nvidia0", dev + "/nvidia0", 195, 0, 0o640, 7, 44, "gpu"},
		{"/dev/nvidia1", "", 195, 1, 0o660, 0, 44, "gpu"},
		{"/dev/nvidia2", "", 195, 2, 0o660, 0, 44, "gpu"},
		{"/dev/nvidia-uvm", "", 510, 0, 0o660, 0, 44, "compute"},
		{"/dev/nvidia-uvm-tools", "", 510, 1, 0o660, 0, 44, "compute"},
		{"/dev/nvidia-modeset", dev + "/nvidia-modeset", 195, 254, 0o666, 0, 0, "display"},
	})
	same(t, "warnings", codes(warnings), []string{"node-mismatch", "node-mismatch", "node-mismatch"})
	if !strings.Contains(warnings[0].Message, "c 195:9 but the driver has c 195:1") {
		t.Errorf("warning %q does not name both devices", warnings[0].Message)
	}
}

func TestHostNode(t *testing.T) {
	t.Parallel()
	h := stand(t, "node dev/x 195 3 604 1 2", "file dev/file x", "link dev/link x")
	same(t, "hostNode", must(t)(hostNode(h.Dev+"/x")), Node{Host: h.Dev + "/x", Major: 195, Minor: 3, Mode: 0o604, UID: 1, GID: 2})
	for _, name := range []string{"file", "link", "none", "."} {
		if n, err := hostNode(h.Dev + "/" + name); err == nil {
			t.Errorf("hostNode(%s) = %+v, want an error", name, n)
		}
	}
}

func must(t *testing.T) func(Node, error) Node {
	return func(n Node, err error) Node {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}
