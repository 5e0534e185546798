package main

import (
	"fmt"
	"strings"
	"syscall"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// tell prints what the container found.
func (s *scene) tell(got lab.Result) {
	fmt.Println("  device nodes:")
	fmt.Print(indent(indent(part(got.Stdout, "nodes"))))
	fmt.Println("  what happens when they are opened:")
	for _, name := range s.nodes() {
		line := "is not there"
		if got.Facts["stat:"+name].Errno == 0 {
			line = opened(got.Facts["open:"+name].Errno)
		}
		fmt.Printf("    %-24s %s\n", name, line)
	}
	hand := got.Facts[s.byHand()]
	fmt.Printf("    %-24s %s\n", fmt.Sprintf("195:%d made by hand", s.closed), opened(hand.Errno))
	fmt.Println("  the driver that a program gets:")
	cuda := got.Facts["driver:libcuda.so.1"]
	if cuda.Error != "" {
		fmt.Printf("    libcuda.so.1             %s\n", cuda.Error)
	} else {
		fmt.Printf("    libcuda.so.1             %s\n    which is                 %s\n    cuDriverGetVersion       %d (CUDA %d.%d)\n",
			cuda.Path, cuda.Real, cuda.Value, cuda.Value/1000, cuda.Value%1000/10)
	}
	fmt.Println("  what its loader cache lists:")
	for line := range strings.Lines(part(got.Stdout, "cache")) {
		fmt.Printf("    %s", strings.TrimLeft(line, "\t "))
	}
	if s.real {
		fmt.Println("  nvidia-smi -L:")
		fmt.Print(indent(indent(part(got.Stdout, "smi"))))
	}
}

// opened says in words how opening a device ended.
func opened(errno int) string {
	switch syscall.Errno(errno) {
	case 0:
		return "open: opens"
	case syscall.ENXIO, syscall.ENODEV:
		return "open: the cgroup lets it through; no driver is behind it on this machine"
	case syscall.EPERM:
		return "closed: the cgroup forbids it"
	default:
		return syscall.Errno(errno).Error()
	}
}

// part is the text after the line "== name" up to the next such line.
func part(text, name string) string {
	_, after, _ := strings.Cut(text, "== "+name+"\n")
	before, _, _ := strings.Cut(after, "== ")
	return before
}
