package cgroup

import (
	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/devices"
	"github.com/gpu-hook/gpu-hook/devices/cgroup/filter"
)

// Rule grants access to one character device.
type Rule = filter.Rule

// Request is what [Layout.Allow] and [Layout.Missing] are asked for.
type Request struct {
	PID   int    // The container's process; must be the one given to [Detect].
	Rules []Rule // Exact character devices.

	// Spec is linux.resources.devices of the container's configuration. It is
	// read only where the kernel hides the program that has to be changed.
	Spec []specs.LinuxDeviceCgroup
}

// Ways in which rules were granted, for [Result].
const (
	WayNone         = "none"              // No device rules are in force here.
	WayV1           = "v1"                // devices.allow.
	WayV1Systemd    = "v1+systemd"        // DeviceAllow on the scope.
	WayV2           = "v2"                // Programs replaced.
	WayV2Systemd    = "v2+systemd"        // DeviceAllow, then programs replaced.
	WayV2Pinned     = "v2+pinned"         // Program replaced and pinned for the unit's BPFProgram.
	WayV2Detached   = "v2+systemd-only"   // DeviceAllow, then hidden programs detached.
	WayV2Rebuilt    = "v2+rebuilt"        // Hidden program rebuilt from the configuration.
	WayUnprivileged = "none-unprivileged" // No right to look; plain rootless containers have no rules.
)

const unprivilegedReason = "this process may not set device rules, and rootless containers have none of their own"

// Result says what [Layout.Allow] did.
type Result struct {
	Way       string
	Reason    string // One clause for the plan; why nothing was done where nothing was.
	Warnings  []devices.Warning
	Unchanged bool // Everything was granted already.
}

func (r *Result) warn(code, message string) {
	r.Warnings = append(r.Warnings, devices.Warning{Code: code, Message: message})
}
