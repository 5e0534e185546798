package driver

import "strings"

// splitName takes a library's file name apart: "libcuda.so.535.309.01" is the stem "libcuda" and the suffix "535.309.01". The suffix
// of "libcuda.so" is empty. ok is false for anything that is not lib*.so or lib*.so.*.
func splitName(name string) (stem, suffix string, ok bool) {
	if !strings.HasPrefix(name, "lib") {
		return "", "", false
	}
	for from := 4; from < len(name); {
		i := strings.Index(name[from:], ".so")
		if i < 0 {
			break
		}
		at, end := from+i, from+i+3
		switch {
		case end == len(name):
			return name[:at], "", true
		case name[end] == '.' && end+1 < len(name):
			return name[:at], name[end+1:], true
		}
		from = end
	}
	return "", "", false
}

// driverLike tells a driver version from a SONAME's number. Every driver since 173 has a branch of three digits and at least one
// more part (NVIDIA's Unix driver archive), no SONAME of its libraries has.
func driverLike(suffix string) bool {
	digits, parts := 0, 1
	for i := range len(suffix) {
		switch c := suffix[i]; {
		case c >= '0' && c <= '9':
			if parts == 1 {
				digits++
			}
		case c == '.':
			parts++
		default:
			return false
		}
	}
	return digits >= 3 && parts >= 2
}

// plainNumber tells whether a suffix is a SONAME's or a library's own version:
// digits and dots, and not a driver version. Left-overs such as
// libnvidia-api.so.1.dpkg-tmp have another one.
func plainNumber(suffix string) bool {
	for i := range len(suffix) {
		if c := suffix[i]; c != '.' && (c < '0' || c > '9') {
			return false
		}
	}
	return suffix != "" && !driverLike(suffix)
}

// neutralStems are the libraries that every vendor's driver shares: the container brings its own, and a host's copy needs the host's
// glibc ("GLIBC_2.34 not found"). NVIDIA's installer also puts some of them down with the driver's suffix, for systems without GLVND.
// libnvidia-container is the injector's, not the driver's. Sorted.
var neutralStems = [...]string{
	"libEGL", "libEGL_mesa", "libGL", "libGLESv1_CM", "libGLESv2", "libGLU", "libGLX", "libGLX_indirect", "libGLX_mesa", "libGLdispatch",
	"libOpenCL", "libOpenGL", "libcudart", "libnvidia-container", "libnvidia-container-go",
}

// neutral tells whether a stem is never the driver's to give.
func neutral(stem string) bool {
	for _, n := range neutralStems {
		if n == stem {
			return true
		}
	}
	return false
}

// maybeDriver is a cheap look at a name: can it be a library of the driver at all? It spares a loader cache of thousands of
// entries the search of the table.
func maybeDriver(name, version string) bool {
	if len(name) < 8 {
		return false
	}
	switch name[3] {
	case 'c', 'n':
		if strings.HasPrefix(name, "libnv") || strings.HasPrefix(name, "libcuda") {
			return true
		}
	}
	return strings.Contains(name, "nvidia") || strings.HasSuffix(name, version)
}
