package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// list is the input of the reference program barecalls.
type list struct {
	Rootfs string `json:"rootfs"`
	Tree   string `json:"tree"`
	Files  []pair `json:"files"`
	Links  []pair `json:"links"`
	Places []pair `json:"places"`
	Nodes  []node `json:"nodes"`
	Writes []pair `json:"writes"`
}

type pair struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type node struct {
	Path  string `json:"path"`
	Major uint32 `json:"major"`
	Minor uint32 `json:"minor"`
}

func (l list) save(t lab.T, file string) {
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatalf("%v", err)
	}
	lab.Write(t, file, string(text))
}

// plan is the part of the hook's plan that becomes the list.
type plan struct {
	Tree   string
	Mounts []struct{ Source, Target string }

	Symlinks    []struct{ Path, Target string }
	DeviceNodes []struct {
		Path         string
		Major, Minor uint32
	}
}

// makeList asks the hook for its plan, and runs it once for the files that it
// writes into the root.
func (b *bench) makeList(t lab.T) list {
	c := b.bundle(t, "info")
	cmd := exec.Command(b.hook, append(c.Hook[1:len(c.Hook):len(c.Hook)], "plan", "--bundle", c.Dir, "--format", "json")...)
	cmd.Stderr = os.Stderr
	// A bundle at rest has its rootfs in the overlay's lower directory.
	c.Spec.Root.Path = b.root
	c.Save(t)
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("ask for the plan: %v", err)
	}
	var p plan
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatalf("read the plan: %v", err)
	}
	l := list{Tree: strings.TrimPrefix(p.Tree, "/")}
	for _, m := range p.Mounts {
		if to, ok := strings.CutPrefix(m.Target, p.Tree+"/"); ok {
			l.Files = append(l.Files, pair{m.Source, to})
		}
	}
	for _, k := range p.Symlinks {
		if to, ok := strings.CutPrefix(k.Path, p.Tree+"/"); ok {
			l.Links = append(l.Links, pair{k.Target, to})
		} else {
			l.Places = append(l.Places, pair{k.Target, strings.TrimPrefix(k.Path, "/")})
		}
	}
	for _, n := range p.DeviceNodes {
		l.Nodes = append(l.Nodes, node{strings.TrimPrefix(n.Path, "/"), n.Major, n.Minor})
	}
	l.Writes = b.written(t)
	if len(l.Files) == 0 || len(l.Nodes) == 0 || len(l.Writes) == 0 {
		t.Fatalf("the plan has %d files, %d nodes and %d files to write", len(l.Files), len(l.Nodes), len(l.Writes))
	}
	return l
}

// written runs the hook once and keeps the files that it wrote below /etc.
func (b *bench) written(t lab.T) []pair {
	c := b.bundle(t, "info")
	if got := lab.Run(t, b.runc, c, lab.Box{Cgroups: b.cgroups}); got.Code != 0 {
		t.Fatalf("the container ended with %d: %s", got.Code, got.Stderr)
	}
	var out []pair
	err := filepath.WalkDir(filepath.Join(c.Upper, "etc"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			out = append(out, pair{path, strings.TrimPrefix(path, c.Upper+"/")})
		}
		return err
	})
	if err != nil {
		t.Fatalf("look for what the hook wrote: %v", err)
	}
	return out
}

// phasesOf reads the fields of a debug line that are durations.
func phasesOf(line string) map[string]time.Duration {
	var fields map[string]any
	if json.Unmarshal([]byte(line), &fields) != nil || fields["msg"] != "where the time went" {
		return nil
	}
	out := map[string]time.Duration{}
	for name, value := range fields {
		text, ok := value.(string)
		if !ok || name == "time" {
			continue
		}
		if took, err := time.ParseDuration(text); err == nil {
			out[name] = took
		}
	}
	return out
}
