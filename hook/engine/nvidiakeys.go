package engine

import (
	"path"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/hook/config"
)

// nvidiaKey says what becomes of one of NVIDIA's keys: carried over, or not
// needed where it has its plain value (nil: whatever it has), or left out.
type nvidiaKey struct {
	key   string
	plain any
	why   string
	carry func(in *imported, value any) string // "" or why it cannot be
}

// nvidiaKeys are the keys of NVIDIA's container toolkit up to 1.20. A function,
// so that no hook pays for the table at its start.
func nvidiaKeys() []nvidiaKey {
	return []nvidiaKey{
		{key: "disable-require", carry: boolean("disable-require")},
		{key: "swarm-resource", carry: name("swarm-resource")},
		{key: "accept-nvidia-visible-devices-envvar-when-unprivileged", carry: acceptEnv},
		{key: "accept-nvidia-visible-devices-as-volume-mounts", carry: boolean("accept-volume-mounts")},
		{key: "supported-driver-capabilities", carry: capabilities},

		{key: "nvidia-container-cli.root", carry: driverRoot},
		{key: "nvidia-container-cli.path", why: "no nvidia-container-cli is started"},
		{key: "nvidia-container-cli.environment", plain: []any{}, why: "no nvidia-container-cli is started that could have an environment"},
		{key: "nvidia-container-cli.debug", carry: debugLog},
		{key: "nvidia-container-cli.ldcache", plain: "", why: "the host's loader cache is not read; name directories in driver.library-dirs"},
		{key: "nvidia-container-cli.load-kmods", carry: boolean("load-kernel-modules")},
		{key: "nvidia-container-cli.no-cgroups", carry: noCgroups},
		{key: "nvidia-container-cli.no-pivot", why: "gpu-hook never changes its root"},
		{key: "nvidia-container-cli.user", plain: "", why: "gpu-hook runs as the user that the runtime runs it as"},
		{key: "nvidia-container-cli.ldconfig", why: "the container's loader cache is written without ldconfig"},

		{key: "nvidia-container-runtime.debug", carry: runtimeLog},
		{key: "nvidia-container-runtime.log-level", carry: logLevel},
		{key: "nvidia-container-runtime.runtimes", carry: runtimes},
		{key: "nvidia-container-runtime.mode", carry: mode},
		{key: "nvidia-container-runtime.modes.csv.mount-spec-path", plain: "/etc/nvidia-container-runtime/host-files-for-container.d", why: "files of this kind (Tegra) are not read"},
		{key: "nvidia-container-runtime.modes.csv.compat-container-root", why: "files of this kind (Tegra) are not read"},
		{key: "nvidia-container-runtime.modes.cdi.spec-dirs", plain: []any{"/etc/cdi", "/var/run/cdi"}, why: "CDI specifications are the engine's to read"},
		{key: "nvidia-container-runtime.modes.cdi.default-kind", plain: "nvidia.com/gpu", why: "CDI specifications are the engine's to read"},
		{key: "nvidia-container-runtime.modes.cdi.annotation-prefixes", plain: []any{"cdi.k8s.io/"}, why: "other prefixes are not looked for"},
		{key: "nvidia-container-runtime.modes.jit-cdi.nvcdi-feature-flags", plain: []any{}, why: "no CDI specification is made for single containers"},
		{key: "nvidia-container-runtime.modes.jit-cdi.nvcdi-disable-hooks", plain: []any{}, why: "no CDI specification is made for single containers"},
		{key: "nvidia-container-runtime.modes.legacy.cuda-compat-mode", carry: compatMode},

		{key: "nvidia-container-runtime-hook.path", why: "gpu-hook is the hook"},
		{key: "nvidia-container-runtime-hook.skip-mode-detection", why: "there are no modes"},
		{key: "nvidia-ctk.path", why: "no nvidia-ctk is started"},

		{key: "features.allow-cuda-compat-libs-from-container", plain: true, why: "an image's compat libraries are used where this driver needs them; compat.mode = \"off\" forbids it"},
		{key: "features.allow-ldconfig-from-container", plain: false, why: "nothing of an image is ever started"},
		{key: "features.allow-unknown-oci-spec-fields", why: "unknown fields are always let through"},
		{key: "features.disable-cuda-compat-lib-hook", carry: compatOff},
		{key: "features.disable-imex-channel-creation", plain: false, why: "there is no such setting"},
		{key: "features.ignore-imex-channel-requests", plain: false, why: "there is no such setting"},
		{key: "features.no-additional-gids-for-device-nodes", plain: false, why: "there is no such setting"},
	}
}

const wrongType = "this is not a value of the kind that NVIDIA documents"

func boolean(key string) func(*imported, any) string {
	return func(in *imported, value any) string {
		if _, ok := value.(bool); !ok {
			return wrongType
		}
		return in.set(key, tomlValue(value))
	}
}

func name(key string) func(*imported, any) string {
	return func(in *imported, value any) string {
		s, ok := value.(string)
		if !ok || strings.ContainsAny(s, "=\x00") {
			return wrongType
		}
		return in.set(key, tomlValue(s))
	}
}

func acceptEnv(in *imported, value any) string {
	switch value {
	case true:
		return in.set("accept-env", tomlString(string(config.EnvAlways)))
	case false:
		return in.set("accept-env", tomlString(string(config.EnvPrivileged)))
	}
	return wrongType
}

func capabilities(in *imported, value any) string {
	list, ok := value.(string)
	if !ok {
		return wrongType
	}
	known, unknown := []string{}, []string{}
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "":
		case name == "all" || slices.Contains(config.Capabilities(), name):
			known = append(known, name)
		default:
			unknown = append(unknown, name)
		}
	}
	in.set("supported-driver-capabilities", tomlValue(known))
	if len(unknown) > 0 {
		return "unknown capabilities are left out"
	}
	return ""
}

func driverRoot(in *imported, value any) string {
	root, ok := value.(string)
	switch {
	case !ok:
		return wrongType
	case root == "":
		return in.set("driver/root", tomlString("/"))
	case !path.IsAbs(root) || strings.ContainsRune(root, 0):
		return "this is not an absolute path"
	}
	return in.set("driver/root", tomlString(root))
}

func debugLog(in *imported, value any) string {
	name, ok := value.(string)
	switch {
	case !ok:
		return wrongType
	case name == "" || name == "/dev/null":
		in.unneeded = append(in.unneeded, "nvidia-container-cli.debug: nothing was logged")
		return ""
	}
	in.set("log/level", tomlString(string(config.LevelDebug)))
	return "gpu-hook logs to log.file, with log.level = \"debug\" now"
}

func runtimeLog(in *imported, value any) string {
	name, ok := value.(string)
	switch {
	case !ok:
		return wrongType
	case name == "" || name == "/dev/null":
		in.unneeded = append(in.unneeded, "nvidia-container-runtime.debug: nothing was logged")
		return ""
	}
	return "gpu-hook logs to log.file"
}

// logLevel takes the words of NVIDIA's runtime. That of the hook's own debug
// file, if there is one, is more and wins.
func logLevel(in *imported, value any) string {
	word, ok := value.(string)
	if !ok {
		return wrongType
	}
	level, ok := map[string]config.LogLevel{
		"trace": config.LevelDebug, "debug": config.LevelDebug, "info": config.LevelInfo, "warn": config.LevelWarn,
		"warning": config.LevelWarn, "error": config.LevelError, "fatal": config.LevelError, "panic": config.LevelError,
	}[strings.ToLower(word)]
	if !ok {
		return "unknown level"
	}
	if in.settings["log/level"] == "" {
		in.set("log/level", tomlString(string(level)))
	}
	return ""
}

func noCgroups(in *imported, value any) string {
	switch value {
	case true:
		return in.set("cgroups/mode", tomlString(string(config.CgroupOff)))
	case false:
		return in.set("cgroups/mode", tomlString(string(config.CgroupAuto)))
	}
	return wrongType
}

func runtimes(in *imported, value any) string {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return wrongType
	}
	for _, entry := range list {
		name, ok := entry.(string)
		if !ok || name == "" || strings.ContainsRune(name, '/') && !path.IsAbs(name) || strings.ContainsRune(name, 0) {
			return wrongType
		}
	}
	return in.set("runtime/runtimes", tomlValue(list))
}

func mode(in *imported, value any) string {
	switch value {
	case "auto", "legacy", "":
		in.unneeded = append(in.unneeded, "nvidia-container-runtime.mode: there is one mode, for everything")
		return ""
	case "csv":
		return "files of this kind (Tegra) are not read"
	case "cdi", "jit-cdi":
		return "gpu-hook gives GPUs itself; an engine that prefers CDI gets a specification from gpu-hook cdi"
	}
	return wrongType
}

func compatMode(in *imported, value any) string {
	switch value {
	case "disabled":
		return in.set("compat/mode", tomlString(string(config.CompatOff)))
	case "ldconfig", "mount", "hook":
		if in.settings["compat/mode"] == "" {
			in.set("compat/mode", tomlString(string(config.CompatAuto)))
		}
		return ""
	}
	return wrongType
}

func compatOff(in *imported, value any) string {
	switch value {
	case true:
		return in.set("compat/mode", tomlString(string(config.CompatOff)))
	case false:
		in.unneeded = append(in.unneeded, "features.disable-cuda-compat-lib-hook: compat.mode decides")
		return ""
	}
	return wrongType
}
