// Command gpu-hook gives containers their NVIDIA GPUs: an OCI hook, and the
// commands that explain what it does.
//
// This package holds flags, the choice of command and exit codes, and nothing
// else: what a command does is in package hook.
package main

import (
	"os"
	"runtime/debug"
)

// version is set by the linker (-X main.version=...).
var version = "devel"

// gcPercent lets the first collection happen at 16 MiB of heap instead of 4: a
// hook ends before that, and no time goes into collecting.
const gcPercent = 400

func main() {
	debug.SetGCPercent(gcPercent)
	os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
