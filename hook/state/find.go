package state

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OpenBundle reads the bundle that the state names.
//
// Some releases of crun name the wrong one: their working directory, "/" when
// podman starts them with id maps (crun issues 2025 and 2261). The state's
// root key tells, and the bundle is then looked for where it usually is:
// beside the root directory, or where the runtime's own command line says. One
// is taken only if its root.path is the root that the state names.
func (s State) OpenBundle() (Bundle, error) {
	return finder{proc: "/proc", runtime: os.Getppid()}.bundle(s)
}

// finder looks for bundles; runtime is the process that started the hook.
type finder struct {
	proc    string
	runtime int
}

func (f finder) bundle(s State) (Bundle, error) {
	b, err := OpenBundle(s.Bundle)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || s.Root == "" {
		return b, err
	}
	if err == nil && b.hasRoot(s.Root) {
		return b, nil
	}
	for _, dir := range f.elsewhere(s) {
		if other, err := OpenBundle(dir); err == nil && other.hasRoot(s.Root) {
			return other, nil
		}
	}
	if err != nil {
		return Bundle{}, &WrongBundleError{Dir: s.Bundle, Root: s.Root, Err: err}
	}
	return b, nil // a root that reads differently is no reason to stop
}

// hasRoot reports whether root, as crun writes it, is this bundle's.
func (b Bundle) hasRoot(root string) bool {
	return b.Spec.Root.Path != "" && b.join(b.Spec.Root.Path) == b.join(root)
}

// elsewhere lists the directories in which the bundle may be after all.
func (f finder) elsewhere(s State) []string {
	var dirs []string
	if filepath.IsAbs(s.Root) {
		dirs = append(dirs, filepath.Dir(filepath.Clean(s.Root)))
	}
	if dir := f.runtimeBundle(); dir != "" {
		dirs = append(dirs, dir)
	}
	return dirs
}

// maxArgs bounds the runtime's command line in bytes; engines write some 500.
const maxArgs = 64 << 10

// runtimeBundle is the --bundle of the runtime's command line, "" where it has
// none or a relative one.
func (f finder) runtimeBundle() string {
	data, err := readRegular(filepath.Join(f.proc, strconv.Itoa(f.runtime), "cmdline"), maxArgs)
	if err != nil {
		return ""
	}
	var dir string
	next := false
	for field := range bytes.SplitSeq(data, []byte{0}) {
		arg := string(field)
		switch value, long := strings.CutPrefix(arg, "--bundle="); {
		case next:
			dir, next = arg, false
		case arg == "--bundle" || arg == "-b":
			next = true
		case long:
			dir = value
		}
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// WrongBundleError is a bundle without config.json in a state that has crun's
// root key.
type WrongBundleError struct {
	Dir, Root string
	Err       error
}

// Error names the directory and what is known of the right one.
func (e *WrongBundleError) Error() string {
	return fmt.Sprintf("open bundle %.200q of root %.200q: %v", e.Dir, e.Root, e.Err)
}

// Unwrap gives the cause.
func (e *WrongBundleError) Unwrap() error { return e.Err }

// Cure names the fault in crun.
func (e *WrongBundleError) Cure() string {
	return "update crun: some releases name the wrong bundle to hooks (crun issue 2025)"
}
