package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/gpu-hook/gpu-hook/hook/engine"
)

// installedAs is where gpu-hook is on a host that is configured from a
// container, unless --binary says otherwise.
const installedAs = "/usr/local/bin/gpu-hook"

// configureFlags are the options of configure.
type configureFlags struct {
	options  engine.Options
	hookLink string
}

func (c *configureFlags) register(fs *flag.FlagSet) {
	o := &c.options
	fs.StringVar(&o.Root, "root", "", "")
	fs.StringVar(&o.Binary, "binary", "", "")
	fs.StringVar(&o.File, "file", "", "")
	fs.BoolVar(&o.SetDefault, "set-default", false, "")
	fs.BoolVar(&o.BaseSpec, "base-spec", false, "")
	fs.StringVar(&c.hookLink, "hook-link", "", "")
	fs.BoolVar(&o.DryRun, "dry-run", false, "")
	fs.BoolVar(&o.Remove, "remove", false, "")
	fs.BoolVar(&o.Import, "import-nvidia-config", false, "")
}

// configure makes an engine call gpu-hook, or undoes that.
func configure(o options, stdout io.Writer) error {
	c := o.configure.options
	c.HookLink = engine.HookLink(o.configure.hookLink)
	if len(o.args) > 1 {
		return errUsage{fmt.Sprintf("unexpected argument %.200q after configure %.200q", o.args[1], o.args[0])}
	}
	if len(o.args) == 1 {
		c.Engine = o.args[0]
	}
	if c.Binary == "" {
		c.Binary = installedAs
		if c.Root == "" || c.Root == "/" {
			own, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			c.Binary = own
		}
	}
	report, err := engine.Configure(c)
	var wrong *engine.UsageError
	if errors.As(err, &wrong) {
		return errUsage{wrong.Error()}
	}
	if err != nil {
		return err
	}
	return report.WriteText(stdout)
}
