package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
)

// options are the global options and those of single commands; one set, so
// that each may stand before or after the command, as engines write them.
type options struct {
	config     string
	configSet  bool
	hostRoot   string
	driverRoot string
	logLevel   string
	bundle     string
	format     string
	debug      bool
	version    bool
	all        bool
	check      bool

	devices     devicesFlag
	annotations bool
	kind        string
	cdiVersion  string

	configure configureFlags
	again     again

	command string
	args    []string
}

// errUsage is a command line that cannot be carried out; its text is the line
// that the user sees.
type errUsage struct{ text string }

func (e errUsage) Error() string { return e.text }

// drop-in names: argv[0] alone chooses a command where engines call the binary
// by the name of what it replaces.
const hookName = "nvidia-container-runtime-hook"

// runtimeName starts the binary as an OCI runtime: every word is the runtime's.
const runtimeName = "gpu-runtime"

// parseArgs reads the command line. Options may stand before and after the
// command; "-config=F" and "--config F" are the same. The words -debug and
// -version of NVIDIA's hook are taken, so that a link with its name works.
func parseArgs(argv []string) (options, error) {
	var o options
	if len(argv) > 0 && filepath.Base(argv[0]) == runtimeName {
		return options{command: "runtime", args: argv[1:]}, nil
	}
	fs := flag.NewFlagSet("gpu-hook", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.config, "config", "", "")
	fs.StringVar(&o.hostRoot, "host-root", "", "")
	fs.StringVar(&o.driverRoot, "driver-root", "", "")
	fs.StringVar(&o.logLevel, "log-level", "", "")
	fs.StringVar(&o.bundle, "bundle", "", "")
	fs.StringVar(&o.format, "format", "", "")
	fs.BoolVar(&o.debug, "debug", false, "")
	fs.BoolVar(&o.version, "version", false, "")
	fs.BoolVar(&o.all, "all", false, "")
	fs.BoolVar(&o.check, "check", false, "")
	fs.Var(&o.devices, "device", "")
	fs.BoolVar(&o.annotations, "annotations", false, "")
	fs.StringVar(&o.again.entered, "entered", "", "")
	fs.BoolVar(&o.again.calledForGPU, "called-for-gpu", false, "")
	fs.StringVar(&o.kind, "kind", "", "")
	fs.StringVar(&o.cdiVersion, "cdi-version", "", "")

	o.configure.register(fs)

	rest := argv[min(1, len(argv)):]
	for {
		if err := fs.Parse(rest); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				o.command = "help"
				return o, nil
			}
			return o, errUsage{err.Error()}
		}
		rest = fs.Args()
		if len(rest) == 0 {
			break
		}
		if o.command == "" {
			o.command = rest[0]
		} else {
			o.args = append(o.args, rest[0])
		}
		rest = rest[1:]
		if o.command == "runtime" {
			o.args = rest // the runtime's, options and all
			break
		}
	}
	fs.Visit(func(f *flag.Flag) {
		if f.Name == "config" {
			o.configSet = true
		}
	})
	if o.version {
		o.command = "version"
	}
	if o.debug && o.logLevel == "" {
		o.logLevel = "debug"
	}
	if len(o.args) > 0 && o.command != "reapply" && o.command != "runtime" && o.command != "configure" {
		return o, errUsage{fmt.Sprintf("unexpected argument %.200q after %s", o.args[0], o.command)}
	}
	return o, o.checkValues()
}

// checkValues refuses values that nothing can be done with.
func (o options) checkValues() error {
	for name, dir := range map[string]string{"--host-root": o.hostRoot, "--driver-root": o.driverRoot} {
		if dir != "" && !filepath.IsAbs(dir) {
			return errUsage{fmt.Sprintf("%s %.200q is no absolute path", name, dir)}
		}
	}
	switch o.logLevel {
	case "", "debug", "info", "warn", "error":
	default:
		return errUsage{fmt.Sprintf("unknown log level %.200q (error, warn, info or debug)", o.logLevel)}
	}
	switch o.format {
	case "", "json", "text":
	default:
		return errUsage{fmt.Sprintf("unknown format %.200q (json or text)", o.format)}
	}
	return nil
}

// calledAsHook reports that the binary was started under the name that Docker
// looks for.
func calledAsHook(argv []string) bool {
	return len(argv) > 0 && filepath.Base(argv[0]) == hookName
}
