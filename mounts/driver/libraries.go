package driver

import (
	"sort"
	"strings"
)

// naming says how a library's file is named.
type naming uint8

const (
	versioned naming = iota // stem.so.DRIVERVERSION
	soname                  // stem.so.N or stem.so.N.N.N: belongs to the driver by lying beside it
	either                  // one of the two, by branch
	module                  // a module of the X server: found by the table of files, never put into the library tree
)

// demand says what the lack of a file means.
type demand uint8

const (
	extra    demand = iota // comes and goes with branches and packages: its lack is no news
	expected               // part of every driver since 470: its lack is a warning
	required               // its lack is an error
)

// libRow is one library, or with a trailing * in the stem a family of them.
type libRow struct {
	stem   string
	caps   capSet
	naming naming
	need   demand
	// direct: programs dlopen it by SONAME (or a GLVND loader does), so it must be found even where the loader cache is not read.
	direct bool
	// dev: the .so name is opened by programs, too; it is passed on where the host has it.
	dev bool
	// subdir is where it lies below the library directory on some systems.
	subdir string
}

// libraries is the capability table. Sorted by stem.
//
// Sources: "list" is libnvidia-container's library list (src/nvc_info.c, 1.17 to 1.19); "535" are the packages of Debian 12 with
// driver 535.309.01, file names and SONAMEs as read there; "readme" is NVIDIA's driver README, chapter "Installed
// Components"; "packages" are those of distributions.
var libraries = [...]libRow{
	{stem: "libEGL_nvidia", caps: graphics, need: expected, direct: true},                 // list, 535: SONAME .0, opened by libEGL of GLVND
	{stem: "libGLESv1_CM_nvidia", caps: graphics, direct: true},                           // list, 535: SONAME .1
	{stem: "libGLESv2_nvidia", caps: graphics, direct: true},                              // list, 535: SONAME .2
	{stem: "libGLX_nvidia", caps: graphics, need: expected, direct: true},                 // list, 535: SONAME .0, also the Vulkan driver
	{stem: "libcuda", caps: compute, need: required, direct: true, dev: true},             // list, 535: SONAME .1
	{stem: "libcudadebugger", caps: compute},                                              // list, 535: since 470
	{stem: "libglxserver_nvidia", caps: display, naming: module},                          // 535: a module of Xorg
	{stem: "libnvcuvid", caps: video, need: expected, direct: true, dev: true},            // list, 535: SONAME .1
	{stem: "libnvidia-allocator", caps: compute | graphics, dev: true},                    // list has it under compute; GBM opens it (535: nvidia-drm_gbm.so)
	{stem: "libnvidia-api", caps: graphics, naming: soname},                               // 535: the file itself is libnvidia-api.so.1 (Wine, DLSS)
	{stem: "libnvidia-cbl", caps: graphics},                                               // list: 410 to 470
	{stem: "libnvidia-cfg", caps: utility, dev: true},                                     // list, 535: SONAME .1
	{stem: "libnvidia-compiler", caps: compute},                                           // list: OpenCL compiler of 470 and before
	{stem: "libnvidia-compiler-next", caps: compute},                                      // packages of Arch and Slackware: beside libnvidia-compiler
	{stem: "libnvidia-egl-*", caps: graphics, naming: soname},                             // 535: gbm 1.1.0, wayland 1.1.10; readme: wayland2, xcb, xlib
	{stem: "libnvidia-eglcore", caps: graphics, need: expected},                           // list, 535: SONAME has the version
	{stem: "libnvidia-encode", caps: video, need: expected, direct: true, dev: true},      // list, 535: SONAME .1
	{stem: "libnvidia-fatbinaryloader", caps: compute},                                    // list: branches before 450
	{stem: "libnvidia-fbc", caps: graphics, direct: true, dev: true},                      // list, 535: SONAME .1
	{stem: "libnvidia-glcore", caps: graphics, need: expected},                            // list, 535: SONAME has the version
	{stem: "libnvidia-glsi", caps: graphics, need: expected},                              // list, 535: SONAME has the version
	{stem: "libnvidia-glvkspirv", caps: graphics},                                         // list, 535: SONAME has the version
	{stem: "libnvidia-gpucomp", caps: compute | graphics},                                 // list; packages of 550: needed by libcuda's and GL's compilers
	{stem: "libnvidia-gtk*", caps: display},                                               // readme: nvidia-settings' window parts
	{stem: "libnvidia-ifr", caps: graphics},                                               // list: 470 and before
	{stem: "libnvidia-ml", caps: utility, need: expected, direct: true, dev: true},        // list, 535: SONAME .1
	{stem: "libnvidia-ngx*", caps: ngx, direct: true, dev: true},                          // list, 535: SONAME .1
	{stem: "libnvidia-nscq*", caps: utility},                                              // list: NVSwitch hosts, SONAME .2
	{stem: "libnvidia-nvvm*", caps: compute, naming: either},                              // list, 535: SONAME .4; libnvidia-nvvm70.so.4 has no version in its name
	{stem: "libnvidia-opencl", caps: compute, need: expected},                             // list, 535: SONAME .1, named by nvidia.icd
	{stem: "libnvidia-opticalflow", caps: video, need: expected, direct: true, dev: true}, // list, 535: SONAME .1
	{stem: "libnvidia-pkcs11", caps: compute},                                             // list: OpenSSL 1.1 hosts
	{stem: "libnvidia-pkcs11-openssl3", caps: compute},                                    // list, 535: SONAME has the version
	{stem: "libnvidia-present", caps: graphics},                                           // packages of 575: named by nvidia_layers.json
	{stem: "libnvidia-ptxjitcompiler", caps: compute, need: expected, dev: true},          // list, 535: SONAME .1
	{stem: "libnvidia-rtcore", caps: graphics},                                            // list, 535: SONAME has the version
	{stem: "libnvidia-sandboxutils", caps: utility},                                       // packages of 575: SONAME .1
	{stem: "libnvidia-tileiras", caps: compute},                                           // list 1.19
	{stem: "libnvidia-tls", caps: graphics, need: expected},                               // list, 535: SONAME has the version
	{stem: "libnvidia-vksc-core", caps: graphics},                                         // packages of 575: Vulkan SC, SONAME .1
	{stem: "libnvidia-vulkan-producer", caps: graphics, dev: true},                        // 535: has no SONAME
	{stem: "libnvidia-wayland-client", caps: display},                                     // readme: nvidia-settings under Wayland
	{stem: "libnvoptix", caps: graphics, direct: true},                                    // list, 535: SONAME .1
	{stem: "libnvsdm", caps: utility},                                                     // NVLink hosts: DCGM opens libnvsdm.so.1
	{stem: "libvdpau_nvidia", caps: video, direct: true, dev: true, subdir: "vdpau"},      // list, 535: SONAME .1, in vdpau/ everywhere but in nvidia/current
}

// rowOf finds the row that names a stem, or nil. An exact row wins over a family.
func rowOf(stem string) *libRow {
	i := sort.Search(len(libraries), func(i int) bool { return libraries[i].stem >= stem })
	if i < len(libraries) && libraries[i].stem == stem {
		return &libraries[i]
	}
	for i := range libraries {
		if r := &libraries[i]; r.family() && strings.HasPrefix(stem, r.prefix()) {
			return r
		}
	}
	return nil
}

// family tells whether the row stands for every stem with a prefix.
func (r *libRow) family() bool { return r.stem[len(r.stem)-1] == '*' }

// prefix is the stem without its star; for a family it is also the likeliest member's stem ("libnvidia-nvvm").
func (r *libRow) prefix() string { return strings.TrimSuffix(r.stem, "*") }

// accepts tells whether a file with this suffix can be the row's of driver version.
func (r *libRow) accepts(suffix, version string) bool {
	switch r.naming {
	case versioned:
		return suffix == version
	case soname:
		return plainNumber(suffix)
	case either:
		return suffix == version || plainNumber(suffix)
	}
	return false
}
