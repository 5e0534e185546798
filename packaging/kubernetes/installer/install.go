package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// name is the program's on the host.
const name = "gpu-hook"

// mark is in every gpu-hook: the main package's path, which Go's linker writes.
const mark = "github.com/gpu-hook/gpu-hook/cmd/gpu-hook"

// install puts the program on the host and configures the engine; changed says
// whether the engine has to be restarted.
func (i installer) install(ctx context.Context) (changed bool, err error) {
	root, err := os.OpenRoot(i.root)
	if err != nil {
		return false, fmt.Errorf("open the host's root: %w", err)
	}
	defer root.Close()
	data, err := os.ReadFile(i.source)
	if err != nil {
		return false, fmt.Errorf("read gpu-hook: %w", err)
	}
	if err := place(root, i.target(), data); err != nil {
		return false, err
	}
	// configure says what it would do before it does it, so that an engine that
	// is as it should be needs no restart.
	plan, err := i.configure(ctx, "--dry-run")
	if err != nil {
		return false, err
	}
	out, err := i.configure(ctx)
	fmt.Print(out)
	return !strings.Contains(plan, "nothing to change"), err
}

// target is the program's place below the root.
func (i installer) target() string {
	return strings.TrimPrefix(filepath.Join(i.binDir, name), "/")
}

// place writes the program beside its place and renames it: containers that
// start meanwhile find the old one or the new one.
func place(root *os.Root, target string, data []byte) error {
	old, err := root.ReadFile(target)
	switch {
	case err == nil && bytes.Equal(old, data):
		return nil
	case err == nil && !bytes.Contains(old, []byte(mark)):
		return fmt.Errorf("install /%s: there is another program of that name", target)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("install /%s: %w", target, err)
	}
	if err := root.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("install /%s: %w", target, err)
	}
	beside := target + ".new"
	if err := write(root, beside, data); err != nil {
		return errors.Join(fmt.Errorf("install /%s: %w", target, err), ignoreMissing(root.Remove(beside)))
	}
	if err := root.Rename(beside, target); err != nil {
		return errors.Join(fmt.Errorf("install /%s: %w", target, err), ignoreMissing(root.Remove(beside)))
	}
	return nil
}

func write(root *os.Root, file string, data []byte) (err error) {
	f, err := root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, bytes.NewReader(data)); err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o755), f.Sync())
}

// remove takes the engine's configuration back, then the program.
func (i installer) remove(ctx context.Context) error {
	root, err := os.OpenRoot(i.root)
	if err != nil {
		return fmt.Errorf("open the host's root: %w", err)
	}
	defer root.Close()
	out, err := i.configure(ctx, "--remove")
	if err != nil {
		return err // The engine still calls the program, so it stays.
	}
	fmt.Print(out)
	if old, err := root.ReadFile(i.target()); err == nil && !bytes.Contains(old, []byte(mark)) {
		return nil
	}
	if err := ignoreMissing(root.Remove(i.target())); err != nil {
		return fmt.Errorf("remove /%s: %w", i.target(), err)
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
