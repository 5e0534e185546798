package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2)
	}
	os.Exit(lab.Main("bench", func(t lab.T) {
		ratio := 0.0
		if o.engine == "docker" {
			ratio = runDocker(t, o)
		} else {
			ratio = runHook(t, o)
		}
		if o.limit > 0 && ratio > o.limit {
			t.Fatalf("the hook takes %.2f times as long as what it is compared with, want at most %.2f", ratio, o.limit)
		}
	}))
}

// runHook measures the hook's process and returns its ratio to the bare calls.
func runHook(t lab.T, o options) float64 {
	b := newBench(t, lab.Cgroups(o.cgroups), o.capabilities)
	b.pair(t, 3) // The page cache, the dentry cache and the CPU warm up.
	b.forget(t)
	b.pair(t, o.pairs)
	return b.report(t)
}

// bench is what all runs share.
type bench struct {
	dir, hook, bare, timer string
	host                   *lab.StandIn
	root                   string
	runc                   lab.Runtime
	cgroups                lab.Cgroups
	capabilities           string
	list                   list
	phases                 map[string][]time.Duration
}

func newBench(t lab.T, cgroups lab.Cgroups, capabilities string) *bench {
	b := &bench{
		dir: lab.Temp(t), hook: lab.Hook(t), timer: lab.Timer(t), runc: lab.Runc(t), root: lab.Root(t, lab.Glibc),
		cgroups: cgroups, capabilities: capabilities, phases: map[string][]time.Duration{},
	}
	b.host = standIn(t, capabilities)
	b.bare = filepath.Join(b.dir, "barecalls")
	lab.Build(t, b.bare, "./integration/barecalls")
	b.list = b.makeList(t)
	return b
}

// bundle makes a container whose hook is timed into a file.
func (b *bench) bundle(t lab.T, level string) *lab.Bundle {
	return lab.NewBundle(t, b.root, lab.Options{
		Host: b.host, Hook: b.hook, Overlay: true, Args: []string{"/bin/true"},
		Env:    []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=" + b.capabilities},
		Config: "[log]\nfile = \"" + filepath.Join(b.dir, "hook.log") + "\"\nlevel = \"" + level + "\"\nformat = \"json\"\n",
	})
}

// timed puts the timer before a hook.
func (b *bench) timed(hooks []specs.Hook, file string) {
	for i := range hooks {
		hooks[i].Args = slices.Concat([]string{"timer", file, hooks[i].Path}, hooks[i].Args[1:])
		hooks[i].Path = b.timer
	}
}

// pair runs n pairs, the two of a pair in changing order.
func (b *bench) pair(t lab.T, n int) {
	for i := range n {
		runs := []func(){func() { b.runHook(t) }, func() { b.runBare(t) }}
		if i%2 == 1 {
			slices.Reverse(runs)
		}
		for _, run := range runs {
			run()
		}
	}
}

func (b *bench) runHook(t lab.T) {
	c := b.bundle(t, "info")
	b.timed(c.Spec.Hooks.Prestart, filepath.Join(b.dir, "hook.times"))
	c.Save(t)
	b.run(t, c)
}

func (b *bench) runBare(t lab.T) {
	c := b.bundle(t, "info")
	b.list.Rootfs = filepath.Join(c.Dir, "rootfs")
	list := filepath.Join(c.Dir, "list.json")
	b.list.save(t, list)
	c.Spec.Hooks.Prestart = []specs.Hook{{Path: b.bare, Args: []string{"barecalls", list}}}
	b.timed(c.Spec.Hooks.Prestart, filepath.Join(b.dir, "bare.times"))
	c.Save(t)
	b.run(t, c)
}

func (b *bench) run(t lab.T, c *lab.Bundle) {
	if got := lab.Run(t, b.runc, c, lab.Box{Cgroups: b.cgroups}); got.Code != 0 {
		t.Fatalf("the container ended with %d: %s", got.Code, got.Stderr)
	}
	if err := os.RemoveAll(c.Dir); err != nil {
		t.Fatalf("%v", err)
	}
}

// forget drops the timings of the warm-up.
func (b *bench) forget(t lab.T) {
	for _, name := range []string{"hook.times", "bare.times"} {
		if err := os.Remove(filepath.Join(b.dir, name)); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

// report prints the numbers and returns the ratio.
func (b *bench) report(t lab.T) float64 {
	hook := lab.Timings(t, filepath.Join(b.dir, "hook.times"))
	bare := lab.Timings(t, filepath.Join(b.dir, "bare.times"))
	hookMs, bareMs := inMs(took(hook)), inMs(took(bare))
	fmt.Printf("%d pairs, runc on overlayfs (cgroups: %s), %d GPUs, %d files, %d + %d links, %d nodes\n\n",
		min(len(hook), len(bare)), b.cgroups, len(b.host.GPUs), len(b.list.Files), len(b.list.Links), len(b.list.Places), len(b.list.Nodes))
	head(os.Stdout, "whole process, ms")
	row(os.Stdout, "gpu-hook", hookMs)
	row(os.Stdout, "bare system calls", bareMs)
	ratio := row(os.Stdout, "ratio of a pair", each(hookMs, bareMs, over))
	b.reportPhases(t)
	var rss int64
	for _, r := range hook {
		rss = max(rss, r.MaxRSS)
	}
	info, err := os.Stat(b.hook)
	if err != nil {
		t.Fatalf("%v", err)
	}
	fmt.Printf("\n%-28s %8.1f MiB (limit 32)\n%-28s %8.1f MiB\n",
		"largest resident size", float64(rss)/(1<<20), "binary", float64(info.Size())/(1<<20))
	return ratio
}

func took(runs []lab.Timing) []time.Duration {
	out := make([]time.Duration, len(runs))
	for i, r := range runs {
		out[i] = r.Took
	}
	return out
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// reportPhases runs the hook with its debug log, which says where the time
// went, and prints the median of each phase. Writing that log costs time, so
// these runs are not the timed ones.
func (b *bench) reportPhases(t lab.T) {
	log := filepath.Join(b.dir, "hook.log")
	if err := os.RemoveAll(log); err != nil {
		t.Fatalf("%v", err)
	}
	for range 15 {
		b.run(t, b.bundle(t, "debug"))
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Logf("no phases: %v", err)
		return
	}
	names := []string{}
	for line := range strings.Lines(string(text)) {
		for name, took := range phasesOf(line) {
			if b.phases[name] == nil {
				names = append(names, name)
			}
			b.phases[name] = append(b.phases[name], took)
		}
	}
	median := func(name string) time.Duration {
		slices.Sort(b.phases[name])
		return b.phases[name][len(b.phases[name])/2]
	}
	slices.SortFunc(names, func(x, y string) int { return int(median(y) - median(x)) })
	fmt.Printf("\n%-28s %8s\n", "where the hook's time goes, ms", "median")
	for _, name := range names {
		fmt.Printf("  %-26s %8.2f\n", name, ms(median(name)))
	}
}
