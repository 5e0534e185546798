package config

import "slices"

// DefaultPath is read when no other file is named.
const DefaultPath = "/etc/gpu-hook/config.toml"

// Config is the whole configuration. Paths below [driver] and [compat] lie
// below HostRoot.
type Config struct {
	HostRoot                    string    `toml:"host-root"`
	AcceptEnv                   AcceptEnv `toml:"accept-env"`
	AcceptVolumeMounts          bool      `toml:"accept-volume-mounts"`
	SwarmResource               string    `toml:"swarm-resource"` // comma list of variable names
	AllowDevices                []string  `toml:"allow-devices"`
	SupportedDriverCapabilities []string  `toml:"supported-driver-capabilities"`
	DisableRequire              bool      `toml:"disable-require"`
	OnMissingDriver             OnProblem `toml:"on-missing-driver"`
	LoadKernelModules           bool      `toml:"load-kernel-modules"`
	Driver                      Driver    `toml:"driver"`
	Mounts                      Mounts    `toml:"mounts"`
	Cgroups                     Cgroups   `toml:"cgroups"`
	Compat                      Compat    `toml:"compat"`
	Runtime                     Runtime   `toml:"runtime"`
	Log                         Log       `toml:"log"`
}

// Driver says where the driver's files are and which CUDA version it supports
// where the built-in table does not know ("" = the table, else "12.4").
type Driver struct {
	Root        string   `toml:"root"`
	LibraryDirs []string `toml:"library-dirs"`
	CUDAVersion string   `toml:"cuda-version"`
}

// Mounts says how driver files appear in the container.
type Mounts struct {
	Layout  Layout   `toml:"layout"`
	Dir     string   `toml:"dir"`
	Proc    ProcMode `toml:"proc"`
	Include []string `toml:"include"`
	Exclude []string `toml:"exclude"`
}

// Cgroups says whether device rules are set, and with which rights.
type Cgroups struct {
	Mode   CgroupMode `toml:"mode"`
	Access Access     `toml:"access"`
}

// Compat steers the choice between the host's libcuda and the image's.
type Compat struct {
	Mode       CompatMode `toml:"mode"`
	OnMismatch OnProblem  `toml:"on-mismatch"`
	HostDir    string     `toml:"host-dir"`
}

// Runtime says what "gpu-hook runtime" wraps: absolute paths, or names looked
// up in the usual directories; the first one there is counts.
type Runtime struct {
	Runtimes []string `toml:"runtimes"`
}

// Log says where the log goes. An empty File means no log.
type Log struct {
	File   string    `toml:"file"`
	Level  LogLevel  `toml:"level"`
	Format LogFormat `toml:"format"`
}

// Default is the configuration where there is no file.
func Default() Config {
	return Config{
		HostRoot:                    "/",
		AcceptEnv:                   EnvAlways,
		AllowDevices:                []string{"all"},
		SupportedDriverCapabilities: slices.Clone(capabilities[:]),
		OnMissingDriver:             Auto,
		LoadKernelModules:           true,
		Driver:                      Driver{Root: "/"},
		Mounts:                      Mounts{Layout: LayoutPrivate, Dir: "/usr/local/nvidia", Proc: ProcParams},
		Cgroups:                     Cgroups{Mode: CgroupAuto, Access: AccessRW},
		Compat:                      Compat{Mode: CompatAuto, OnMismatch: Auto},
		Runtime:                     Runtime{Runtimes: []string{"runc", "crun"}},
		Log:                         Log{File: "/var/log/gpu-hook.log", Level: LevelInfo, Format: FormatText},
	}
}
