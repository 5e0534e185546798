package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/mounts"
	"github.com/gpu-hook/gpu-hook/mounts/loader"
)

// Target is where a plan is carried out.
type Target struct {
	Roots  *Roots
	Loader loader.Facts
	// Spec is linux.resources.devices of config.json, from which a device
	// filter is rebuilt where the kernel hides the one in place.
	Spec   []specs.LinuxDeviceCgroup
	Label  string // linux.mountLabel of config.json, for what is made
	Phases *Phases
	// Granted, if set, is called once the device rules are in force, with the
	// way in which they were set.
	Granted func(way string)
}

// Apply carries the plan out and returns what it had to leave out. What lasts
// no longer than the container (mounts, nodes, device rules) comes first; only
// when all of it has worked is the image's own tree written to, so that a
// failure leaves no half-made files behind. A second run changes nothing.
//
// The caller has set umask 0: a hook inherits its caller's, and 077 would hide
// the driver from ordinary users.
func (p Plan) Apply(ctx context.Context, t Target) ([]Warning, error) {
	if p.Action != Inject {
		return nil, nil
	}
	files, err := p.prepare(t.Roots)
	if err != nil {
		return nil, err
	}
	defer files.close()
	t.Phases.Mark("prepare")

	// Two hooks of one container at the same moment (an engine that registers
	// both stages and does not wait) take turns; the second finds all done.
	a := applier{plan: p, target: t, files: files}
	unlock, err := t.Roots.Container.Lock()
	switch {
	case errors.Is(err, mounts.ErrBusy):
		// A container that shares the rootfs can hold the lock as well; it must
		// not keep others from starting.
		a.warn("not-alone", "something holds the lock of the container's root directory; the hook went on without it")
	case err != nil:
		return nil, pathFault(fault.Mount, "lock the container's root directory", err)
	default:
		defer unlock()
	}
	t.Roots.Container.Forget() // what Gather resolved: found anew, and fewer descriptors
	rules := p.startRules(ctx, t.Spec)
	err = p.Container.do(func() error {
		if err := a.transient(); err != nil {
			<-rules
			return err
		}
		res := <-rules
		t.Phases.Mark("rules")
		a.warnings = append(a.warnings, res.warnings...)
		if res.err != nil {
			return res.err
		}
		if t.Granted != nil {
			t.Granted(res.way)
		}
		return a.lasting()
	})
	if err != nil && fault.CodeOf(err) == fault.Other {
		err = &fault.Error{
			Code: fault.Mount, What: "enter the container's mount namespace", Err: err,
			Cure: "start the hook with the rights of the runtime",
		}
	}
	return a.warnings, err
}

// do runs fn in the container's mount namespace.
func (c ContainerRef) do(fn func() error) error {
	if c.Entry == EntryInside || c.Entry == EntryNsenter {
		return fn()
	}
	n, err := mounts.OpenNamespace(c.PID)
	if err != nil {
		return err
	}
	defer n.Close()
	if c.Owner != nil {
		return n.DoAs(mounts.User(*c.Owner), fn)
	}
	return n.Do(fn)
}

// prepared holds the host's files, by target, ready to be mounted.
type prepared struct {
	files map[string]*mounts.Prepared
	left  []Warning
}

func (f *prepared) close() {
	for _, p := range f.files {
		_ = p.Close()
	}
}

// heldClones is how many host files are cloned beforehand: with the handles of
// directories (40 were seen) they stay below 64 descriptors.
const heldClones = 16

// prepare takes hold of every host file before the container's namespace is
// joined: a path of one is never read in the other.
func (p Plan) prepare(r *Roots) (*prepared, error) {
	f := &prepared{files: make(map[string]*mounts.Prepared, len(p.Mounts))}
	for _, m := range p.Mounts {
		from := source(r, p.Driver.Root, m.Source)
		from.Writable = !slices.Contains(m.Options, "ro")
		from.Late = len(f.files) >= heldClones
		file, err := mounts.Prepare(from, mounts.Calls{})
		if err != nil && m.Optional {
			f.left = append(f.left, Warning{"optional-file", fmt.Sprintf("%s is left out: %v", m.Source, err)})
			continue
		}
		if err != nil {
			f.close()
			return nil, fault.New(fault.Mount, fmt.Sprintf("take hold of %s", m.Source), err)
		}
		f.files[m.Target] = file
	}
	for _, n := range p.DeviceNodes {
		if n.Method != MethodBind {
			continue
		}
		file, err := n.prepare(r)
		if err != nil {
			f.close()
			return nil, fault.New(fault.Node, fmt.Sprintf("take hold of %s", n.Path), err)
		}
		f.files[n.Path] = file
	}
	return f, nil
}

// source says in which open root a host path lies.
func source(r *Roots, driverRoot, hostPath string) mounts.Source {
	if rel, ok := strings.CutPrefix(hostPath, strings.TrimSuffix(driverRoot, "/")+"/"); ok {
		return mounts.Source{Root: r.Driver, Path: "/" + rel}
	}
	return mounts.Source{Root: r.Host, Path: r.below(hostPath)}
}

// below is a host path seen from the host root.
func (r *Roots) below(hostPath string) string {
	return strings.TrimPrefix(hostPath, strings.TrimSuffix(r.HostPath, "/"))
}

// applier carries one plan out on a thread inside the container's namespace.
type applier struct {
	plan     Plan
	target   Target
	files    *prepared
	warnings []Warning
}

func (a *applier) warn(code, format string, args ...any) {
	a.warnings = append(a.warnings, Warning{code, fmt.Sprintf(format, args...)})
}

// transient makes what goes away with the container.
func (a *applier) transient() error {
	a.warnings = append(a.warnings, a.files.left...)
	if err := a.tree(); err != nil {
		return pathFault(fault.Mount, "mount the driver's files", err)
	}
	a.target.Phases.Mark("tree")
	if err := a.nodes(); err != nil {
		return pathFault(fault.Node, "make device nodes", err)
	}
	a.target.Phases.Mark("device nodes")
	if err := a.proc(); err != nil {
		return pathFault(fault.Mount, "cover "+procDriver, err)
	}
	return nil
}

// lasting writes to the container's own file system.
func (a *applier) lasting() error {
	// Links and the loader's files have nothing to do with each other but the
	// file system, which is what both wait for.
	loader := a.startLoader()
	err := a.binds()
	if err == nil {
		err = a.links()
	}
	a.target.Phases.Mark("links")
	updated := <-loader
	a.target.Phases.Mark("loader")
	a.warnings = append(a.warnings, updated.warnings...)
	if err != nil {
		return pathFault(fault.Mount, "make links to the driver's files", err)
	}
	if updated.err != nil {
		return pathFault(fault.Mount, "update the loader's files", updated.err)
	}
	for _, dir := range a.plan.Hidden {
		if _, err := mounts.HideDir(a.target.Roots.Container, dir); err != nil {
			return pathFault(fault.Mount, fmt.Sprintf("hide %.200q", dir), err)
		}
	}
	return nil
}

// tree builds the private read-only tree from the mounts and links below it.
func (a *applier) tree() error {
	at := cmp.Or(a.plan.Tree, TextTree)
	if len(a.plan.Texts) == 0 && (a.plan.Tree == "" || len(a.plan.Mounts)+len(a.plan.Symlinks) == 0) {
		return nil
	}
	tree := mounts.Tree{At: at, Label: a.target.Label}
	prefix := at + "/"
	for _, f := range a.plan.Texts {
		tree.Texts = append(tree.Texts, mounts.TreeText{Path: strings.TrimPrefix(f.Path, prefix), Content: []byte(f.Content)})
	}
	for _, m := range a.plan.Mounts {
		rel, in := strings.CutPrefix(m.Target, prefix)
		if file := a.files.files[m.Target]; in && file != nil {
			tree.Files = append(tree.Files, mounts.TreeFile{Path: rel, From: file})
		}
	}
	for _, l := range a.plan.Symlinks {
		if rel, in := strings.CutPrefix(l.Path, prefix); in {
			tree.Links = append(tree.Links, mounts.Link{Path: rel, Target: l.Target})
		}
	}
	_, err := tree.Build(a.target.Roots.Container, mounts.Calls{})
	return err
}

// binds mounts the files whose place is outside the tree.
func (a *applier) binds() error {
	for _, m := range a.plan.Mounts {
		file := a.files.files[m.Target]
		if file == nil || a.inTree(m.Target) {
			continue
		}
		var flags mounts.PlaceFlags
		if m.Cover {
			flags = mounts.Cover
		}
		outcome, why, err := mounts.PlaceFile(a.target.Roots.Container, m.Target, file, flags)
		switch {
		case err != nil && m.Optional:
			a.warn("optional-file", "%s is left out: %v", m.Target, err)
		case err != nil:
			return err
		case outcome == mounts.Left:
			a.warn("left-out", "%.200q is left out: %s", m.Target, why)
		}
	}
	return nil
}

// links makes the links outside the tree.
func (a *applier) links() error {
	for _, l := range a.plan.Symlinks {
		if a.inTree(l.Path) || strings.HasPrefix(l.Path, "/dev/") {
			continue
		}
		outcome, why, err := mounts.PlaceLink(a.target.Roots.Container, mounts.Link{Path: l.Path, Target: l.Target, Over: l.Replaces})
		switch {
		case err != nil && l.Optional:
			a.warn("optional-file", "%.200q is left out: %v", l.Path, err)
		case err != nil:
			return err
		case outcome == mounts.Left:
			a.warn("left-out", "%.200q is left out: %s", l.Path, why)
		}
	}
	return nil
}

// updated is what updating the loader's files came to.
type updated struct {
	warnings []Warning
	err      error
}

// startLoader updates the loader's files on a thread of its own.
func (a *applier) startLoader() <-chan updated {
	done := make(chan updated, 1)
	go func() {
		var u updated
		u.err = a.plan.Container.do(func() error {
			warnings, err := a.plan.loaderUpdate().Apply(a.target.Roots.Container, a.target.Loader)
			for _, w := range warnings {
				u.warnings = append(u.warnings, Warning(w))
			}
			return err
		})
		done <- u
	}()
	return done
}

func (a *applier) inTree(name string) bool {
	return a.plan.Tree != "" && strings.HasPrefix(name, a.plan.Tree+"/")
}
