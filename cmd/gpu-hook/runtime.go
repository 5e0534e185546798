package main

import (
	"context"
	"os"
	"strings"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/wrapper"
)

// runRuntime becomes runc or crun; it returns only where that did not work.
func runRuntime(o hook.Options, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return fault.New(fault.Other, "find this program's file", err)
	}
	return wrapper.Runner{Hook: o, Self: self}.Run(context.Background(), args)
}

// devicesFlag collects the values of --device, in order.
type devicesFlag []string

// String is the list as one word.
func (d *devicesFlag) String() string { return strings.Join(*d, ",") }

// Set adds one name.
func (d *devicesFlag) Set(name string) error {
	if name == "" {
		return errUsage{"a device needs a name"}
	}
	*d = append(*d, name)
	return nil
}
