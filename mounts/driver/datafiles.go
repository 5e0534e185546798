package driver

// fileRow is a file, or a few of which each is taken, that is not a library.
type fileRow struct {
	names []string // base names; one may hold a star (see [path.Match])
	in    []string // directories of the host, the first that has a name wins
	to    string   // directory in the container; empty = where it was found
	xorg  string   // below the X server's modules: where it goes from a directory that is none of theirs (Debian's /usr/lib/nvidia)
	caps  capSet
	kind  Kind
	need  demand
	// host: belongs to a daemon, which may run outside the driver root.
	host bool
	// daemon says what does without it, for the note where there is none.
	daemon string
}

// xorgModules is the X server's own directory of modules on Debian, whose driver
// keeps them elsewhere and links to them through its alternatives.
const xorgModules = "/usr/lib/xorg/modules"

// The directories that the readers of each kind of file search: their own
// defaults (/etc, then XDG_DATA_DIRS), and where hosts without a writable /usr
// keep them. {home} is each directory of the driver's libraries, {bin} each
// directory with programs (see [fileSearch.binaryDirs]).
var (
	binaryDirs = []string{"{bin}"}
	openCLDirs = []string{"/etc/OpenCL/vendors", "/run/opengl-driver/etc/OpenCL/vendors"}
	vulkanDirs = []string{
		"/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d", "/run/opengl-driver/share/vulkan/icd.d",
		"/vulkan/icd.d", "/home/kubernetes/bin/nvidia/vulkan/icd.d", // GKE
	}
	layerDirs = []string{
		"/etc/vulkan/implicit_layer.d", "/usr/local/share/vulkan/implicit_layer.d", "/usr/share/vulkan/implicit_layer.d",
		"/run/opengl-driver/share/vulkan/implicit_layer.d", "/vulkan/implicit_layer.d", "/home/kubernetes/bin/nvidia/vulkan/implicit_layer.d",
	}
	eglVendorDirs = []string{
		"/etc/glvnd/egl_vendor.d", "/usr/local/share/glvnd/egl_vendor.d", "/usr/share/glvnd/egl_vendor.d",
		"/run/opengl-driver/share/glvnd/egl_vendor.d",
	}
	eglPlatformDirs = []string{
		"/etc/egl/egl_external_platform.d", "/usr/local/share/egl/egl_external_platform.d", "/usr/share/egl/egl_external_platform.d",
		"/run/opengl-driver/share/egl/egl_external_platform.d",
	}
	dataDirs = []string{
		"/usr/share/nvidia", "/usr/local/share/nvidia", "/run/opengl-driver/share/nvidia", "{home}", "/opt/nvidia/share/nvidia",
		"/home/kubernetes/bin/nvidia/share/nvidia",
	}
	xorgConfDirs   = []string{"/etc/X11/xorg.conf.d", "/usr/local/share/X11/xorg.conf.d", "/usr/share/X11/xorg.conf.d"}
	xorgDriverDirs = []string{
		"{home}/nvidia/xorg", "{home}/xorg/modules/updates/drivers", "{home}/xorg/modules/drivers",
		"/usr/lib/xorg/modules/updates/drivers", "/usr/lib/xorg/modules/drivers",
		"/usr/lib64/xorg/modules/updates/drivers", "/usr/lib64/xorg/modules/drivers",
		"/usr/X11R6/lib64/modules/drivers", "/usr/X11R6/lib/modules/drivers", "/usr/lib/nvidia", "/usr/lib/nvidia/current",
	}
	xorgExtensionDirs = []string{
		"{home}/nvidia/xorg", "{home}/xorg/modules/updates/extensions", "{home}/xorg/modules/extensions",
		"/usr/lib/xorg/modules/updates/extensions", "/usr/lib/xorg/modules/extensions",
		"/usr/lib64/xorg/modules/updates/extensions", "/usr/lib64/xorg/modules/extensions",
		"/usr/X11R6/lib64/modules/extensions", "/usr/X11R6/lib/modules/extensions", "/usr/lib/nvidia", "/usr/lib/nvidia/current",
	}
	// firmwareDirs are the kernel's own (fw_path in
	// drivers/base/firmware_loader/main.c); {firmware} is what
	// /sys/module/firmware_class/parameters/path adds.
	firmwareDirs = []string{
		"{firmware}/nvidia/{version}",
		"/lib/firmware/updates/{release}/nvidia/{version}", "/lib/firmware/updates/nvidia/{version}",
		"/lib/firmware/{release}/nvidia/{version}", "/lib/firmware/nvidia/{version}",
		"/run/current-system/firmware/nvidia/{version}", // NixOS
	}
)

// fileRows is the table. Sources: "list" are the tables of NVIDIA Container
// Toolkit 1.20 and libnvidia-container 1.19; "535" are the packages of Debian
// 12 with driver 535.309.01.
var fileRows = [...]fileRow{
	// Programs (list: src/nvc_info.c; nvidia-imex from the toolkit's CDI generator).
	{names: []string{"nvidia-smi"}, in: binaryDirs, to: "/usr/bin", caps: utility, kind: Binary, need: expected},
	{names: []string{"nvidia-debugdump"}, in: binaryDirs, to: "/usr/bin", caps: utility, kind: Binary},
	{names: []string{"nvidia-persistenced"}, in: binaryDirs, to: "/usr/bin", caps: utility, kind: Binary},
	{names: []string{"nv-fabricmanager"}, in: binaryDirs, to: "/usr/bin", caps: utility, kind: Binary},
	{names: []string{"nvidia-imex"}, in: binaryDirs, to: "/usr/bin", caps: utility, kind: Binary},
	{names: []string{"nvidia-imex-ctl"}, in: binaryDirs, to: "/usr/bin", caps: utility, kind: Binary},
	{names: []string{"nvidia-cuda-mps-control"}, in: binaryDirs, to: "/usr/bin", caps: compute, kind: Binary},
	{names: []string{"nvidia-cuda-mps-server"}, in: binaryDirs, to: "/usr/bin", caps: compute, kind: Binary},
	{names: []string{"nvidia-xconfig"}, in: binaryDirs, to: "/usr/bin", caps: graphics, kind: Binary},

	// Lists of drivers, by which the vendor-neutral libraries find NVIDIA's
	// (list: the graphics modifier of the runtime; 535).
	{names: []string{"nvidia.icd"}, in: openCLDirs, to: "/etc/OpenCL/vendors", caps: compute, kind: Data},
	{
		names: []string{"nvidia_icd.json", "nvidia_icd.{icd}.json"},
		in:    vulkanDirs, to: "/etc/vulkan/icd.d", caps: graphics, kind: Data, need: expected,
	},
	{names: []string{"nvidia_layers.json"}, in: layerDirs, to: "/etc/vulkan/implicit_layer.d", caps: graphics, kind: Data},
	{
		names: []string{"10_nvidia.json"},
		in:    eglVendorDirs, to: "/usr/share/glvnd/egl_vendor.d", caps: graphics, kind: Data, need: expected,
	},
	{
		names: []string{
			"15_nvidia_gbm.json", "10_nvidia_wayland.json", "99_nvidia_wayland2.json", "09_nvidia_wayland2.json", "20_nvidia_xcb.json", "20_nvidia_xlib.json",
		},
		in: eglPlatformDirs, to: "/usr/share/egl/egl_external_platform.d", caps: graphics, kind: Data,
	},
	// list, 535.
	{
		names: []string{"nvoptix.bin"},
		in:    dataDirs, to: "/usr/share/nvidia", caps: graphics, kind: Data,
	},
	// 535.
	{
		names: []string{"nvidia-application-profiles-{version}-rc"},
		in:    dataDirs, to: "/usr/share/nvidia", caps: graphics, kind: Data,
	},
	// 535.
	{
		names: []string{"nvidia-application-profiles-{version}-key-documentation"},
		in:    dataDirs, to: "/usr/share/nvidia", caps: graphics, kind: Data,
	},
	// list.
	{
		names: []string{"10-nvidia.conf", "nvidia-drm-outputclass.conf"},
		in:    xorgConfDirs, to: "/usr/share/X11/xorg.conf.d", caps: display, kind: Data,
	},
	// list, 535.
	{
		names: []string{"nvidia_drv.so"},
		in:    xorgDriverDirs, xorg: "drivers", caps: display, kind: Data,
	},
	// list, 535.
	{
		names: []string{"libglxserver_nvidia.so.{version}"},
		in:    xorgExtensionDirs, xorg: "extensions", caps: display, kind: Data,
	},

	// GSP firmware (list; 535: gsp_ga10x.bin, gsp_tu10x.bin).
	{names: []string{"gsp*.bin"}, in: firmwareDirs, to: "/lib/firmware/nvidia/{version}", caps: utility | compute, kind: Firmware},

	// Sockets of the host's daemons (list: src/nvc_info.c).
	{
		names: []string{"socket"}, in: []string{"/run/nvidia-persistenced", "/var/run/nvidia-persistenced"}, to: "/run/nvidia-persistenced",
		caps: utility, kind: Socket, host: true, daemon: "nvidia-persistenced does not run, so the first program to use an idle GPU waits for it to start",
	},
	{
		names: []string{"socket"}, in: []string{"/run/nvidia-fabricmanager", "/var/run/nvidia-fabricmanager"}, to: "/run/nvidia-fabricmanager",
		caps: utility, kind: Socket, host: true, daemon: "the fabric manager, which only machines with NVSwitch have, does not run",
	},
	{
		names: []string{"{mps}"}, in: []string{"{mpsdir}"}, to: "{mpsdir}", caps: compute, kind: Directory, host: true,
		daemon: "no MPS daemon runs, and CUDA programs share a GPU without one",
	},
}
