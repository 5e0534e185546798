package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// stopTime bounds the way back; a pod's grace period should be longer.
const stopTime = 40 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gpu-hook-installer:", err)
		os.Exit(1)
	}
}

// installer is what the command line says.
type installer struct {
	root   string   // where the host's root directory is seen
	binDir string   // the host's directory for gpu-hook
	source string   // gpu-hook in this image
	engine string   // for gpu-hook configure
	unit   string   // of systemd, to be restarted; "" = nothing is restarted
	more   []string // options of configure
	once   bool     // end after the installation
}

func parse(args []string) (installer, error) {
	var i installer
	self, err := os.Executable()
	if err != nil {
		return i, fmt.Errorf("find this program: %w", err)
	}
	fs := flag.NewFlagSet("gpu-hook-installer", flag.ContinueOnError)
	fs.StringVar(&i.root, "root", "/host", "where the host's root directory is mounted")
	fs.StringVar(&i.binDir, "bin-dir", "/usr/local/bin", "the host's directory for gpu-hook")
	fs.StringVar(&i.source, "source", filepath.Join(filepath.Dir(self), name), "the program to install")
	fs.StringVar(&i.engine, "engine", "containerd", "the engine to configure")
	fs.StringVar(&i.unit, "unit", "containerd.service", "the unit to restart; empty for none")
	fs.BoolVar(&i.once, "once", false, "end after the installation, and leave it")
	file := fs.String("file", "", "the engine's configuration file")
	if err := fs.Parse(args); err != nil {
		return i, err
	}
	i.more = fs.Args()
	if *file != "" {
		i.more = append(i.more, "--file", *file)
	}
	if !filepath.IsAbs(i.root) || !filepath.IsAbs(i.binDir) {
		return i, errors.New("read the command line: --root and --bin-dir need absolute paths")
	}
	return i, nil
}

// run installs, waits for the end of ctx and takes everything back.
func run(ctx context.Context, args []string) error {
	i, err := parse(args)
	if err != nil {
		return err
	}
	changed, err := i.install(ctx)
	if err == nil && changed {
		err = i.restart(ctx)
	}
	if err != nil {
		return errors.Join(err, i.undo())
	}
	fmt.Println("gpu-hook is installed and", i.engine, "is configured")
	if i.once {
		return nil
	}
	<-ctx.Done()
	return i.undo()
}

// undo takes back what install did, whatever ended the waiting.
func (i installer) undo() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	if err := i.remove(ctx); err != nil {
		return err
	}
	fmt.Println("gpu-hook is removed")
	return i.restart(ctx)
}

// configure runs gpu-hook configure on the host's files.
func (i installer) configure(ctx context.Context, more ...string) (string, error) {
	args := append([]string{"configure", i.engine, "--root", i.root, "--binary", filepath.Join(i.binDir, name)}, more...)
	out, err := exec.CommandContext(ctx, i.source, append(args, i.more...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("configure %s: %w: %.1000s", i.engine, err, out)
	}
	return string(out), nil
}
