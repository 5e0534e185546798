package request

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/hook/config"
)

// Input is everything that a request can be made with.
type Input struct {
	Env        Env           // process.env as it stands
	Mounts     []specs.Mount // of config.json
	Privileged bool          // CAP_SYS_ADMIN in the bounding set
	// Annotations are looked at only by the runtime wrapper: an engine that
	// knows CDI annotations has acted on them before a hook runs. Nil in hooks.
	Annotations map[string]string
	// Named are devices that the hook's own command line names: a CDI device
	// was injected, and its specification starts us with its name.
	Named []string
	// CalledForGPU says that the engine started us because a user asked for
	// GPUs: Docker does so by the name nvidia-container-runtime-hook.
	CalledForGPU bool
	Config       config.Config
}

// Request is what a container asks for.
type Request struct {
	// Source says where the request was found: "env:NVIDIA_VISIBLE_DEVICES",
	// "volume", "annotation:KEY", "legacy", or "cdi" for names on our command line.
	Source string
	// Devices are the names as given, without empty ones and repetitions:
	// ["all"], or GPUs by index, UUID or bus id, or MIG devices.
	Devices []string
	// None means driver files but no device (NVIDIA_VISIBLE_DEVICES=none).
	None bool
	// Capabilities are the driver capabilities, sorted.
	Capabilities []string
	// Legacy marks an image from before NVIDIA_REQUIRE_CUDA: its CUDA_VERSION
	// is a requirement, too.
	Legacy bool
	// UserAsked means that a person asked for GPUs, not only the image.
	UserAsked bool
	// DisableRequire turns NVIDIA_REQUIRE_* off.
	DisableRequire bool

	IMEX       []uint32 // IMEX channels, ascending
	MIGConfig  bool     // the rights to change MIG devices
	MIGMonitor bool     // the rights to watch all MIG devices
	GDS        bool     // GPUDirect Storage nodes
	MOFED      bool     // InfiniBand nodes
	GDRCopy    bool     // GDRCopy node
	NVSwitch   bool     // NVSwitch nodes

	// Env is the container's environment.
	Env Env
}

// A Warning is something a user should know about a request that goes ahead,
// or about one that was left aside. Code is stable, Message is one sentence.
type Warning struct{ Code, Message string }

// Parse finds the request. Names on the command line outrank annotations, those
// volume mounts, and those the environment. Where there is no request the error matches
// [ErrNotRequested] and its text is the reason; any other error is a request
// that is invalid or not allowed. Warnings come with either.
func Parse(in Input) (Request, []Warning, error) {
	a, warnings := in.find()
	what, devices := choose(a.list)
	if what == nothing {
		reason := a.absent
		if len(a.list) > 0 {
			reason = strings.TrimPrefix(a.source, "env:") + " is void"
		}
		return Request{}, warnings, notRequested{reason}
	}
	if strings.HasPrefix(a.source, "env:") || a.source == "legacy" {
		if !in.envAccepted() {
			return Request{}, append(warnings, in.refused(a)), notRequested{fmt.Sprintf("accept-env = %q does not let this container's environment ask for GPUs", in.Config.AcceptEnv)}
		}
	}
	r := Request{
		Source: a.source, Devices: devices, None: what == noDevice,
		Legacy: in.Env.legacyImage(), UserAsked: a.user || in.CalledForGPU, Env: in.Env,
	}
	if err := in.checkDevices(r); err != nil {
		return Request{}, warnings, err
	}
	more, err := in.details(&r, a.imex)
	warnings = append(warnings, more...)
	if err != nil {
		return Request{}, warnings, err
	}
	return r, warnings, nil
}

// find looks in all places, the first in rank first.
func (in Input) find() (asked, []Warning) {
	if len(in.Named) > 0 {
		return asked{source: cdiSource, list: unqualified(in.Named), user: true}, nil
	}
	if a, ok := annotations(in.Annotations); ok {
		return a, nil
	}
	a, warnings := volumes(in.Mounts)
	switch {
	case in.Config.AcceptVolumeMounts && len(a.list) > 0:
		return a, warnings
	case in.Config.AcceptVolumeMounts:
	case len(a.list) > 0:
		warnings = []Warning{{
			Code:    "volume-mounts-off",
			Message: fmt.Sprintf("mounts below %s name devices (%.200q) but are not looked at; set accept-volume-mounts = true", volumeRoot, strings.Join(a.list, ",")),
		}}
	default:
		warnings = nil
	}
	e := environment(in.Env, in.Config.SwarmResource)
	if in.Config.AcceptVolumeMounts {
		e.imex = a.imex
	}
	return e, warnings
}

// checkDevices refuses what can be known to be wrong without the host's list
// of GPUs.
func (in Input) checkDevices(r Request) error {
	if err := checkWords(r.Source, r.Devices); err != nil {
		return err
	}
	// The device plugin marks containers that ask by volume mounts so.
	if !slices.ContainsFunc(r.Devices, func(w string) bool { return path.Clean(w) == volumeRoot }) {
		return nil
	}
	invalid := &InvalidError{
		Source: visibleDevices, Value: strings.Join(r.Devices, ","),
		Reason: "the devices are to be named by volume mounts, but none is there",
		Advice: "mount /dev/null at " + volumeRoot + "/DEVICE",
	}
	if !in.Config.AcceptVolumeMounts {
		invalid.Reason = "the devices are to be named by volume mounts, which are not looked at"
		invalid.Advice = "set accept-volume-mounts = true"
	}
	return invalid
}

// details fills in what stands beside the devices.
func (in Input) details(r *Request, imexMounts []string) (warnings []Warning, err error) {
	if r.Capabilities, err = in.capabilities(r.Legacy); err != nil {
		return nil, err
	}
	if r.MIGConfig, err = in.migRights(migConfigDevices); err != nil {
		return nil, err
	}
	if r.MIGMonitor, err = in.migRights(migMonitorDevices); err != nil {
		return nil, err
	}
	if r.IMEX, warnings, err = in.imex(imexMounts); err != nil {
		return warnings, err
	}
	off, w := in.requireOff()
	r.DisableRequire = off
	warnings = append(warnings, w...)
	if !r.None {
		r.GDS = in.Env.Get(gds) == enabled
		r.MOFED = in.Env.Get(mofed) == enabled
		r.GDRCopy = in.Env.Get(gdrcopy) == enabled
		r.NVSwitch = in.Env.Get(nvswitch) == enabled
	}
	return warnings, nil
}

// requireOff reports whether NVIDIA_REQUIRE_* are turned off: by the
// configuration, or by a variable that [strconv.ParseBool] calls true.
func (in Input) requireOff() (bool, []Warning) {
	if in.Config.DisableRequire {
		return true, nil
	}
	value := in.Env.Get(disableRequire)
	if value == "" {
		return false, nil
	}
	off, err := strconv.ParseBool(value)
	if err != nil {
		return false, []Warning{{
			Code:    "disable-require-ignored",
			Message: fmt.Sprintf("%s=%.200q turns nothing off; write 1 or true", disableRequire, value),
		}}
	}
	return off, nil
}
