package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

func main() { os.Exit(lab.Main("demo", show)) }

func show(t lab.T) {
	s := newScene(t)
	runtime := lab.Runc(t)
	cgroups := lab.Machine
	b := lab.NewBundle(t, lab.Root(t, lab.Glibc), lab.Options{
		Host: s.host, Env: []string{"NVIDIA_VISIBLE_DEVICES=" + s.ask, "NVIDIA_DRIVER_CAPABILITIES=compute,utility"},
		Args: []string{"/bin/sh", "-c", s.script()},
	})
	fmt.Printf("The host      %s\n", s.about)
	fmt.Printf("The container asks for GPU %s (NVIDIA_VISIBLE_DEVICES=%s); %s starts it, %s is its prestart hook\n",
		s.ask, s.ask, version(runtime.Path), version(b.Hook[0], "version"))

	heading("The plan, as \"gpu-hook plan\" tells it before anything is done")
	fmt.Print(indent(output(t, b.Hook[0], append(b.Hook[1:len(b.Hook):len(b.Hook)], "plan", "--bundle", b.Dir, "--format", "text")...)))

	got := lab.Run(t, runtime, b, lab.Box{Cgroups: cgroups})
	if got.Code != 0 {
		t.Fatalf("the container ended with %d: %s", got.Code, got.Stderr)
	}
	heading("Inside the container")
	s.tell(got)
	heading("Afterwards")
	fmt.Printf("  the container took %.2f s, with its start and end\n", got.Took.Seconds())
	left := lab.Leftovers(t, b.Root)
	fmt.Printf("  empty driver files left behind in the container's root: %d\n", len(left))
	fmt.Printf("  mounts left behind on the host: %d\n", added(got.MountsBefore, got.MountsAfter))
}

// added counts the lines that a mount table has more.
func added(before, after string) int {
	old := strings.Split(before, "\n")
	n := 0
	for line := range strings.SplitSeq(after, "\n") {
		if !slices.Contains(old, line) {
			n++
		}
	}
	return n
}

func heading(text string) { fmt.Printf("\n%s\n%s\n", text, strings.Repeat("-", len(text))) }

func indent(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString("  " + line)
	}
	return out.String()
}

// output runs a program and returns what it printed.
func output(t lab.T, name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(name), err)
	}
	return string(out)
}

// version is the first line that a program says of itself.
func version(name string, args ...string) string {
	if len(args) == 0 {
		args = []string{"--version"}
	}
	out, err := exec.Command(name, args...).Output()
	line, _, _ := strings.Cut(string(out), "\n")
	if err != nil || line == "" {
		return filepath.Base(name)
	}
	return line
}
