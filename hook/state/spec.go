package state

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Spec is the narrow view of config.json. Fields have the names, tags and
// types of [specs.Spec]; what is missing there is empty here.
type Spec struct {
	Version     string            `json:"ociVersion"`
	Process     Process           `json:"process"`
	Root        specs.Root        `json:"root"`
	Mounts      []specs.Mount     `json:"mounts"`
	Annotations map[string]string `json:"annotations"`
	Linux       Linux             `json:"linux"`
}

// Process is the part of [specs.Process] that the hook reads.
type Process struct {
	User         specs.User   `json:"user"`
	Env          []string     `json:"env"`
	Capabilities Capabilities `json:"capabilities"`
}

// Linux is the part of [specs.Linux] that the hook reads.
type Linux struct {
	UIDMappings       []specs.LinuxIDMapping `json:"uidMappings"`
	GIDMappings       []specs.LinuxIDMapping `json:"gidMappings"`
	Namespaces        []specs.LinuxNamespace `json:"namespaces"`
	Devices           []Device               `json:"devices"`
	Resources         Resources              `json:"resources"`
	CgroupsPath       string                 `json:"cgroupsPath"`
	MountLabel        string                 `json:"mountLabel"`
	RootfsPropagation string                 `json:"rootfsPropagation"`
}

// Device is the part of [specs.LinuxDevice] that is read.
type Device struct {
	Path string `json:"path"`
}

// Resources is the part of [specs.LinuxResources] that the hook reads.
type Resources struct {
	Devices []specs.LinuxDeviceCgroup `json:"devices"`
}

// Capabilities holds process.capabilities in either of its two forms.
type Capabilities struct {
	Bounding []string // of the object that 1.0.0-rc5 introduced
	Flat     []string // the plain list of 1.0.0-rc1 to rc4
}

// UnmarshalJSON takes both forms.
func (c *Capabilities) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, &c.Flat)
	}
	var sets struct {
		Bounding []string `json:"bounding"`
	}
	if err := json.Unmarshal(data, &sets); err != nil {
		return err
	}
	c.Bounding = sets.Bounding
	return nil
}

// Privileged reports whether the container may have CAP_SYS_ADMIN. The flat
// list counts only where the version says that it was the form of its time:
// today's runtimes do not read it.
func (s Spec) Privileged() bool {
	const admin = "CAP_SYS_ADMIN"
	if flatCapabilities(s.Version) {
		return slices.Contains(s.Process.Capabilities.Flat, admin)
	}
	return slices.Contains(s.Process.Capabilities.Bounding, admin)
}

// flatCapabilities reports whether a version of the runtime specification has
// process.capabilities as a list: 1.0.0-rc1 to rc4, "-dev" and the like
// included.
func flatCapabilities(version string) bool {
	rc, ok := strings.CutPrefix(version, "1.0.0-rc")
	if !ok {
		return false
	}
	digits := strings.IndexFunc(rc, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(rc)
	}
	n, err := strconv.Atoi(rc[:digits])
	return err == nil && n >= 1 && n <= 4
}
