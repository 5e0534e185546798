package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// scene is the host of the demonstration and what the container asks of it.
type scene struct {
	host   *lab.StandIn // nil = this machine
	about  string
	ask    string // NVIDIA_VISIBLE_DEVICES
	given  []int  // minors that the container gets
	closed int    // the minor of a GPU that it does not get
	real   bool
}

func newScene(t lab.T) *scene {
	if minors := realMinors("/proc/driver/nvidia/gpus"); len(minors) > 0 {
		s := &scene{real: true, ask: "0", given: minors[:1], closed: minors[0] + 1}
		if len(minors) > 1 {
			s.closed = minors[1]
		}
		s.about = fmt.Sprintf("this machine, %d NVIDIA GPU(s)", len(minors))
		return s
	}
	s := &scene{ask: "0,2", given: []int{0, 2}, closed: 1}
	var driver lab.Driver
	files := "NVIDIA's own driver files"
	if why := lab.Attempt(t, func(t lab.T) { driver = lab.DriverFiles(t, "535") }); why != "" {
		driver = lab.MadeDriver(t, "535.261.03", 12020)
		first, _, _ := strings.Cut(why, "\n")
		files = "made-up driver files (" + first + ")"
	}
	s.host = lab.Host(t, lab.HostSpec{Driver: driver, Layout: lab.Debian, GPUs: lab.GPUs(8, lab.A100)})
	s.about = fmt.Sprintf("a directory that stands in for a host: 8 GPUs, driver %s, %s", driver.Version, files)
	return s
}

// realMinors reads the minors of this machine's GPUs, in the order of their
// PCI bus ids, which is the order of their indices.
func realMinors(dir string) []int {
	var minors []int
	files, err := filepath.Glob(filepath.Join(dir, "*", "information"))
	if err != nil {
		return nil
	}
	slices.Sort(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, "Device Minor:"); ok {
				if minor, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
					minors = append(minors, minor)
				}
			}
		}
	}
	return minors
}

// nodes are the device nodes that the container is asked about.
func (s *scene) nodes() []string {
	var names []string
	for _, minor := range s.given {
		names = append(names, fmt.Sprintf("/dev/nvidia%d", minor))
	}
	return append(names, "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", s.closedNode())
}

func (s *scene) closedNode() string { return fmt.Sprintf("/dev/nvidia%d", s.closed) }

// byHand is the question that makes the closed GPU's node by hand and opens it.
func (s *scene) byHand() string { return fmt.Sprintf("node:/tmp/by-hand:195:%d", s.closed) }

// script is what the container runs. Nodes are asked for first: libcuda makes
// missing ones itself where it may.
func (s *scene) script() string {
	questions := []string{}
	for _, name := range s.nodes() {
		questions = append(questions, "stat:"+name, "open:"+name)
	}
	questions = append(questions, s.byHand(), "driver:libcuda.so.1", "load:libnvidia-ml.so.1")
	script := "ls -l /dev | grep nvidia >/tmp/nodes; witness " + strings.Join(questions, " ")
	script += "\necho == nodes; cat /tmp/nodes; echo == cache; ldconfig -p | grep -E 'libcuda.so.1|libnvidia-ml.so.1'"
	if s.real {
		script += "\necho == smi; nvidia-smi -L 2>&1"
	}
	return script + "\ntrue"
}
