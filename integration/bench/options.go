package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// options are what the command line says.
type options struct {
	pairs                               int
	limit                               float64
	engine, cgroups, capabilities, peer string
	hostRoot                            string
}

// parse reads the command line. It writes errors and the help to w.
func parse(args []string, w io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(w)
	flags.StringVar(&o.engine, "engine", "", "\"docker\" measures docker run with and without the hook; empty measures the hook's process")
	flags.IntVar(&o.pairs, "pairs", 0, "pairs of containers to run, at least 15 for a verdict; 0 = 25, with -engine docker 15")
	flags.Float64Var(&o.limit, "limit", 0, "end with status 1 when the ratio is above this; 0 = never")
	flags.StringVar(&o.cgroups, "cgroups", "machine", "cgroup layout: machine, v1 or v2; not with -engine")
	flags.StringVar(&o.capabilities, "capabilities", "compute,utility,video", "driver capabilities of the container; \"all\" takes a host with every file of the driver")
	flags.StringVar(&o.peer, "peer-cdi", "", "CDI specification of nvidia.com/gpu to measure against (Docker 25 and later); means -engine docker")
	flags.StringVar(&o.hostRoot, "host-root", "", "with -engine docker: directory of the host that gpu-hook serves, \"/\" is this machine; empty = a stand-in with 8 GPUs")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.peer != "" && o.engine == "" {
		o.engine = "docker"
	}
	err := o.check(flags.NArg())
	if err != nil {
		fmt.Fprintf(w, "bench: %v\n", err)
	}
	if o.pairs == 0 {
		o.pairs = 25
		if o.engine == "docker" {
			o.pairs = 15
		}
	}
	return o, err
}

func (o options) check(more int) error {
	switch {
	case more > 0:
		return errors.New("there are only flags, no arguments")
	case o.engine != "" && o.engine != "docker":
		return fmt.Errorf("-engine %.200q: the only engine is docker", o.engine)
	case o.engine == "" && o.hostRoot != "":
		return errors.New("-host-root needs -engine docker")
	case o.engine != "" && o.cgroups != "machine":
		return errors.New("-cgroups: Docker runs with the machine's layout")
	case o.pairs < 0:
		return fmt.Errorf("-pairs %d: below 0", o.pairs)
	}
	return nil
}
