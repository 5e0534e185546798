package driver

import (
	"debug/elf"
	"fmt"
	"strings"
)

// machine is what the layouts of the distributions make of an architecture.
type machine struct {
	elf       elf.Machine
	class     elf.Class
	triplet   string // multiarch directory
	icdSuffix string // vulkan/icd.d/nvidia_icd.SUFFIX.json
	sysroot   string // Bottlerocket's sysroot
	compat    elf.Machine
}

// machines are the architectures with a current driver (NVIDIA's driver
// archive: Linux 64-bit and Linux 64-bit ARM).
var machines = [...]machine{
	{elf: elf.EM_X86_64, class: elf.ELFCLASS64, triplet: "x86_64-linux-gnu", icdSuffix: "x86_64", sysroot: "x86_64-bottlerocket-linux-gnu", compat: elf.EM_386},
	{elf: elf.EM_AARCH64, class: elf.ELFCLASS64, triplet: "aarch64-linux-gnu", icdSuffix: "aarch64", sysroot: "aarch64-bottlerocket-linux-gnu"},
	{elf: elf.EM_386, class: elf.ELFCLASS32, triplet: "i386-linux-gnu", icdSuffix: "i686"},
}

func machineOf(m elf.Machine) (machine, error) {
	for _, k := range machines {
		if k.elf == m {
			return k, nil
		}
	}
	return machine{}, fmt.Errorf("find driver files: no NVIDIA driver for machine %v", m)
}

// places64 are the directories where 64-bit driver libraries are looked for
// when the loader cache does not name them, in this order. {triplet} is the
// multiarch directory, {major} the module's branch, {version} its version,
// {sysroot} Bottlerocket's.
var places64 = [...]string{
	"/usr/lib/{triplet}",                         // Ubuntu, and NVIDIA's installer on Debian
	"/usr/lib/{triplet}/nvidia/current",          // Debian
	"/usr/lib/{triplet}/nvidia/tesla-{major}",    // Debian: nvidia-tesla-470
	"/usr/lib/{triplet}/nvidia/tesla",            // Debian
	"/usr/lib/{triplet}/nvidia/legacy-{major}xx", // Debian
	"/usr/lib/{triplet}/nvidia",                  // Debian, links of the alternatives
	"/usr/lib64",                                 // Fedora, RHEL, SUSE, Gentoo; the driver container
	"/usr/lib64/nvidia",                          // ELRepo
	"/usr/lib/nvidia-{major}",                    // Ubuntu until 18.04
	"/lib/{triplet}",                             // not merged with /usr
	"/lib64",
	"/usr/lib", // Arch, Buildroot, Yocto
	"/lib",
	"/usr/local/lib/{triplet}", // prefix of an own build of a driver image
	"/usr/local/lib64",
	"/run/opengl-driver/lib",                   // NixOS
	"/run/current-system/sw/lib",               // NixOS
	"/opt/nvidia/lib64",                        // Flatcar
	"/opt/nvidia/lib",                          // Flatcar
	"/opt/nvidia/current/lib64",                // Flatcar
	"/opt/nvidia/{version}/lib64",              // Flatcar
	"/opt/nvidia/current/usr/lib64",            // Flatcar
	"/home/kubernetes/bin/nvidia/lib64",        // Container-Optimized OS (GKE)
	"/var/lib/nvidia/lib64",                    // Container-Optimized OS
	"/usr/local/nvidia/lib64",                  // as mounted by GKE's device plug-in
	"/usr/local/glibc/lib",                     // Talos
	"/usr/local/glibc/usr/lib",                 // Talos
	"/usr/local/lib",                           // Talos
	"/usr/lib/nvidia",                          // Bottlerocket
	"/usr/lib/nvidia/tesla",                    // Bottlerocket
	"/usr/lib/nvidia/tesla/{version}",          // Bottlerocket
	"/{sysroot}/sys-root/usr/lib",              // Bottlerocket
	"/{sysroot}/sys-root/usr/lib/nvidia/tesla", // Bottlerocket
	"/var/lib/snapd/hostfs/usr/lib/{triplet}",  // inside a snap
	"/var/lib/snapd/hostfs/usr/lib/{triplet}/nvidia/current",
	"/var/lib/snapd/hostfs/usr/lib64",
	"/var/lib/snapd/lib/gl", // snapd's own copy for snaps
}

// places32 are the same for 32-bit libraries.
var places32 = [...]string{
	"/usr/lib/{triplet}",
	"/usr/lib/{triplet}/nvidia/current",
	"/usr/lib/{triplet}/nvidia/tesla-{major}",
	"/usr/lib/{triplet}/nvidia/tesla",
	"/usr/lib/{triplet}/nvidia/legacy-{major}xx",
	"/usr/lib32", // Arch, and NVIDIA's installer on Debian
	"/usr/lib32/nvidia-{major}",
	"/lib/{triplet}",
	"/lib32",
	"/usr/lib", // Fedora, RHEL, SUSE
	"/usr/lib/nvidia",
	"/lib",
	"/run/opengl-driver-32/lib", // NixOS
	"/opt/nvidia/lib32",
	"/opt/nvidia/current/lib32",
	"/var/lib/snapd/hostfs/usr/lib/{triplet}",
	"/var/lib/snapd/lib/gl32",
}

// binaryPlaces are the directories of the host's programs. Those on every
// host come first: where nvidia-smi is in one of them, the rest is not looked
// at.
var binaryPlaces = [...]string{
	"/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin",
}

// oddBinaryPlaces are those of hosts with a read-only /usr.
var oddBinaryPlaces = [...]string{
	"/bin", "/sbin",
	"/run/current-system/sw/bin",                             // NixOS
	"/run/opengl-driver/bin",                                 // NixOS
	"/opt/nvidia/bin", "/opt/nvidia/current/bin", "/opt/bin", // Flatcar
	"/home/kubernetes/bin/nvidia/bin", "/var/lib/nvidia/bin", // Container-Optimized OS
	"/usr/libexec/nvidia/tesla/bin", "/usr/libexec/nvidia/tesla/bin/{version}", // Bottlerocket
	"/{sysroot}/sys-root/usr/libexec/nvidia/tesla/bin",
	"/var/lib/snapd/hostfs/usr/bin",
}

// markers are directories that only certain hosts have. Where one is missing,
// the places below it are not asked for one by one.
var markers = [...]string{
	"/home/kubernetes/bin/nvidia", "/opt/nvidia", "/run/current-system", "/run/opengl-driver", "/usr/X11R6", "/usr/lib/xorg", "/usr/lib64/xorg",
	"/usr/lib64", "/usr/local/share/egl", "/usr/local/share/glvnd", "/usr/local/share/vulkan", "/usr/local/share/X11", "/usr/share/X11",
	"/var/lib/nvidia", "/var/lib/snapd/hostfs", "/etc/vulkan", "/etc/glvnd", "/etc/egl", "/vulkan",
}

// words are what stands for each word in braces, in pairs. It does the work of
// a [strings.Replacer] for patterns of which most have no brace at all, and
// costs nothing to make.
type words []string

// fill fills the words in braces in.
func (w words) fill(place string) string {
	for i := 0; i+1 < len(w) && strings.Contains(place, "{"); i += 2 {
		place = strings.ReplaceAll(place, w[i], w[i+1])
	}
	return place
}

// words are those of the machine and a driver version.
func (m machine) words(version string) words {
	major, _, _ := strings.Cut(version, ".")
	return words{
		"{version}", version, "{triplet}", m.triplet, "{major}", major, "{sysroot}", m.sysroot, "{icd}", m.icdSuffix,
	}
}
