package lab

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// Driver is a set of user-space driver files of one version, as unpacked from
// packages. Callers must not write below Dir.
type Driver struct {
	Dir     string // usr/lib/.../nvidia/current and so on
	Version string // "535.261.03", taken from the name of libcuda
}

// branch tells where a driver branch comes from.
type branch struct {
	suite    string
	packages string
}

// branches are the driver branches that Debian's archive carries. 535 has all
// files that a container can get; of the others what the decisions need.
func branches() map[string]branch {
	return map[string]branch{
		"450": {"bullseye", `libnvidia-tesla-450-cuda1 libnvidia-tesla-450-ml1 libnvidia-tesla-450-ptxjitcompiler1
			libnvidia-tesla-450-cfg1 libnvidia-tesla-450-encode1 libnvidia-tesla-450-nvcuvid1`},
		"470": {"bullseye", `libcuda1 libnvidia-ml1 libnvidia-ptxjitcompiler1 libnvidia-cfg1 libnvidia-nvvm4
			libnvidia-encode1 libnvcuvid1 nvidia-smi`},
		"535": {"bookworm", `libcuda1 libnvidia-ml1 nvidia-smi libnvidia-ptxjitcompiler1 libnvidia-cfg1 libnvidia-nvvm4
			libnvidia-encode1 libnvcuvid1 libnvidia-opticalflow1 nvidia-opencl-icd libcudadebugger1 nvidia-cuda-mps
			nvidia-persistenced libnvidia-allocator1 libnvidia-eglcore libnvidia-glcore libglx-nvidia0 libegl-nvidia0
			nvidia-egl-icd nvidia-vulkan-icd nvidia-vdpau-driver libnvidia-fbc1 libnvoptix1 libnvidia-rtcore
			libnvidia-ngx1 libnvidia-glvkspirv libgles-nvidia1 libgles-nvidia2`},
		"550": {"trixie", `libcuda1 libnvidia-ml1 nvidia-smi libnvidia-ptxjitcompiler1 libnvidia-cfg1 libnvidia-nvvm4
			libnvidia-encode1 libnvcuvid1 libcudadebugger1 libnvidia-gpucomp libnvidia-pkcs11-openssl3`},
	}
}

// DriverFiles returns NVIDIA's files of a branch: "450", "470", "535" or "550".
// cuDriverGetVersion of their libcuda says 11000, 11040, 12020 and 12040.
func DriverFiles(t T, name string) Driver {
	t.Helper()
	need.DriverFiles(t)
	from, ok := branches()[name]
	if !ok {
		t.Fatalf("find driver branch %q: the archive has 450, 470, 535 and 550", name)
	}
	dir := fetch(t, "driver-files", from.suite, "", strings.Fields(from.packages)...)
	return Driver{Dir: dir, Version: driverVersion(t, dir)}
}

// fullPackages are what Debian's 535 has beside the files of branch "535": the
// lists of graphics drivers, the X server's modules, and the programs of a
// desktop. nvidia-libopencl1 is vendor-neutral: no container may get it.
const fullPackages = `libgl1-nvidia-glvnd-glx libnvidia-api1 libnvidia-pkcs11-openssl3 nvidia-driver nvidia-driver-bin
	nvidia-egl-common nvidia-vulkan-common nvidia-opencl-common nvidia-alternative xserver-xorg-video-nvidia
	libnvidia-egl-gbm1 libnvidia-egl-wayland1 nvidia-xconfig nvidia-modprobe nvidia-settings nvidia-libopencl1`

// FullDriver returns every file of Debian's 535 packages.
func FullDriver(t T) Driver {
	t.Helper()
	base := DriverFiles(t, "535")
	more := fetch(t, "driver-files", "bookworm", "", strings.Fields(fullPackages)...)
	dir := Once(t, "unpacked/full-"+filepath.Base(more), func(dir string) {
		for _, from := range []string{base.Dir, more} {
			command(t, "", nil, "cp", "-al", from+"/.", dir)
		}
	})
	return Driver{Dir: dir, Version: base.Version}
}

// driverVersion reads the version off the name of the libcuda below dir.
func driverVersion(t T, dir string) string {
	t.Helper()
	version := regexp.MustCompile(`^libcuda\.so\.([0-9]+\.[0-9.]+)$`)
	found := ""
	err := filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if m := version.FindStringSubmatch(e.Name()); m != nil {
			found = m[1]
		}
		return nil
	})
	if err != nil || found == "" {
		t.Fatalf("find libcuda.so.VERSION below %s: %v", dir, err)
	}
	return found
}

// Cudart returns the folder with NVIDIA's CUDA runtime library of a version:
// "11.2" (libcudart.so.11.0), "11.8" (the same name) or "12.4" (libcudart.so.12).
func Cudart(t T, version string) string {
	t.Helper()
	need.DriverFiles(t)
	from := map[string][2]string{
		"11.2": {"bullseye", "libcudart11.0"},
		"11.8": {"bookworm", "libcudart11.0"},
		"12.4": {"trixie", "libcudart12"},
	}[version]
	if from[0] == "" {
		t.Fatalf("find CUDA runtime %q: the archive has 11.2, 11.8 and 12.4", version)
	}
	dir := fetch(t, "driver-files", from[0], "", from[1])
	return filepath.Dir(glob(t, dir, "usr/lib/*/libcudart.so.1*")[0])
}

// MadeDriver compiles a small driver of our own under NVIDIA's file names, for
// machines that cannot have the real files. cuDriverGetVersion says cuda (12020
// for 12.2); everything else is missing, and no library needs another.
func MadeDriver(t T, version string, cuda int) Driver {
	t.Helper()
	need.CC(t)
	dir := Once(t, "made-driver/"+version+"-"+itoa(cuda)+"-2", func(dir string) {
		current := filepath.Join(dir, debianLibs, "nvidia/current")
		mkdir(t, current, ".")
		for _, l := range madeLibraries() {
			source := filepath.Join(dir, "library.c")
			Write(t, source, l.code+"\nint gpu_hook_cuda_version = "+itoa(cuda)+";\n")
			file := l.name + ".so." + version
			command(t, dir, nil, "cc", "-shared", "-fPIC", "-Os", "-s",
				"-Wl,-soname,"+l.soname, "-o", filepath.Join(current, file), source)
			if err := os.Remove(source); err != nil {
				t.Fatalf("%v", err)
			}
			Link(t, file, filepath.Join(current, l.soname))
		}
		Link(t, "libcuda.so.1", filepath.Join(current, "libcuda.so"))
		smi := filepath.Join(dir, "usr/lib/nvidia/current/nvidia-smi")
		Write(t, smi, "#!/bin/sh\necho stand-in nvidia-smi "+version+"\n")
		if err := os.Chmod(smi, 0o755); err != nil {
			t.Fatalf("%v", err)
		}
	})
	return Driver{Dir: dir, Version: version}
}

// madeLibrary is one library of the stand-in driver.
type madeLibrary struct{ name, soname, code string }

func madeLibraries() []madeLibrary {
	const cuda = `extern int gpu_hook_cuda_version;
int cuInit(unsigned f) { return f ? 1 : 100; }
int cuDriverGetVersion(int *v) { *v = gpu_hook_cuda_version; return 0; }`
	return []madeLibrary{
		{"libcuda", "libcuda.so.1", cuda},
		{"libnvidia-ml", "libnvidia-ml.so.1", "int nvmlInit_v2(void) { return 9; }"},
		{"libnvidia-ptxjitcompiler", "libnvidia-ptxjitcompiler.so.1", ""},
		{"libnvidia-nvvm", "libnvidia-nvvm.so.4", ""},
		{"libnvidia-cfg", "libnvidia-cfg.so.1", ""},
		{"libnvidia-opencl", "libnvidia-opencl.so.1", ""},
		{"libcudadebugger", "libcudadebugger.so.1", ""},
		{"libnvidia-allocator", "libnvidia-allocator.so.1", ""},
		{"libnvcuvid", "libnvcuvid.so.1", ""},
		{"libnvidia-encode", "libnvidia-encode.so.1", ""},
		{"libnvidia-opticalflow", "libnvidia-opticalflow.so.1", ""},
		{"libvdpau_nvidia", "libvdpau_nvidia.so.1", ""},
	}
}
