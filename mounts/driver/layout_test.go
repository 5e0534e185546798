package driver

import (
	"debug/elf"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/mounts"
)

// paths are where the libraries of a result lie.
func paths(libs []Library) []string {
	var out []string
	for _, l := range libs {
		out = append(out, l.Path)
	}
	return out
}

// TestLayouts finds compute and utility on every kind of host. Each has the
// fewest files that make it that kind.
func TestLayouts(t *testing.T) {
	t.Parallel()
	const v = "550.54.14"
	both := func(dir string) string {
		return "lib " + dir + "/libcuda.so." + v + " libcuda.so.1\nlink " + dir + "/libcuda.so.1 libcuda.so." + v +
			"\nlib " + dir + "/libnvidia-ml.so." + v + " libnvidia-ml.so.1\n"
	}
	want := func(dir string) []string { return []string{dir + "/libcuda.so." + v, dir + "/libnvidia-ml.so." + v} }
	for _, tt := range []struct {
		name    string
		host    string
		dirs    []string
		machine elf.Machine
		want    []string
	}{
		{
			name: "ubuntu",
			host: both("/usr/lib/x86_64-linux-gnu") + "link /lib usr/lib\ncache libcuda.so.1 /lib/x86_64-linux-gnu/libcuda.so.1",
			want: want("/usr/lib/x86_64-linux-gnu"),
		},
		{
			name: "debian",
			host: both("/usr/lib/x86_64-linux-gnu/nvidia/current") +
				`link /usr/lib/x86_64-linux-gnu/libcuda.so.1 /etc/alternatives/nvidia--libcuda.so.1-x86_64-linux-gnu
				link /etc/alternatives/nvidia--libcuda.so.1-x86_64-linux-gnu /usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.1
				cache libcuda.so.1 /usr/lib/x86_64-linux-gnu/libcuda.so.1`,
			want: want("/usr/lib/x86_64-linux-gnu/nvidia/current"),
		},
		{
			name: "debian-without-alternatives-and-cache",
			host: both("/usr/lib/x86_64-linux-gnu/nvidia/current"),
			want: want("/usr/lib/x86_64-linux-gnu/nvidia/current"),
		},
		{
			name: "debian-tesla",
			host: both("/usr/lib/x86_64-linux-gnu/nvidia/tesla-550") + "lib /usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.535.1.2",
			want: want("/usr/lib/x86_64-linux-gnu/nvidia/tesla-550"),
		},
		{name: "ubuntu-18.04", host: both("/usr/lib/nvidia-550"), want: want("/usr/lib/nvidia-550")},
		{
			name: "fedora",
			host: both("/usr/lib64") + "lib /usr/lib/libcuda.so." + v + " 32\n" +
				"link /lib64 usr/lib64\n" +
				"cache libcuda.so.1 /lib64/libcuda.so.1\n" +
				"cache libcuda.so.1 /lib/libcuda.so.1 32",
			want: want("/usr/lib64"),
		},
		{name: "suse-without-cache", host: both("/usr/lib64"), want: want("/usr/lib64")},
		{name: "elrepo", host: both("/usr/lib64/nvidia"), want: want("/usr/lib64/nvidia")},
		{
			name: "arch",
			host: both("/usr/lib") + "link /usr/lib64 lib\nlink /lib64 usr/lib\nlink /lib usr/lib",
			want: want("/usr/lib"),
		},
		{
			name:    "nvidia-installer-on-arm",
			machine: elf.EM_AARCH64,
			host:    "lib /usr/lib/aarch64-linux-gnu/libcuda.so." + v + " arm64\nlib /usr/lib/libcuda.so." + v,
			want:    []string{"/usr/lib/aarch64-linux-gnu/libcuda.so." + v},
		},
		{
			name: "driver-container", // absolute links must stay in the driver root
			host: "lib /usr/lib64/libcuda.so." + v + " libcuda.so.1\nlink /usr/lib64/libcuda.so.1 /usr/lib64/libcuda.so." + v +
				"\nlib /usr/lib64/libnvidia-ml.so." + v + " libnvidia-ml.so.1\nlink /usr/lib64/libnvidia-ml.so.1 /usr/lib64/libnvidia-ml.so." + v +
				"\ncache libcuda.so.1 /usr/lib64/libcuda.so.1\ncache libnvidia-ml.so.1 /usr/lib64/libnvidia-ml.so.1",
			want: want("/usr/lib64"),
		},
		{
			name: "nixos",
			host: both("/nix/store/abc-nvidia/lib") + "link /run/opengl-driver/lib/libcuda.so.1 /nix/store/abc-nvidia/lib/libcuda.so." + v,
			want: want("/nix/store/abc-nvidia/lib"),
		},
		{
			name: "nixos-linked-directory",
			host: both("/nix/store/abc-nvidia/lib") + "link /run/opengl-driver /nix/store/abc-nvidia",
			want: want("/nix/store/abc-nvidia/lib"),
		},
		{name: "nixos-system", host: both("/run/current-system/sw/lib"), want: want("/run/current-system/sw/lib")},
		{name: "flatcar", host: both("/opt/nvidia/lib64"), want: want("/opt/nvidia/lib64")},
		{name: "flatcar-by-version", host: both("/opt/nvidia/" + v + "/lib64"), want: want("/opt/nvidia/" + v + "/lib64")},
		{name: "cos", host: both("/home/kubernetes/bin/nvidia/lib64"), want: want("/home/kubernetes/bin/nvidia/lib64")},
		{name: "talos", host: both("/usr/local/glibc/lib"), want: want("/usr/local/glibc/lib")},
		{name: "bottlerocket", host: both("/usr/lib/nvidia/tesla"), want: want("/usr/lib/nvidia/tesla")},
		{name: "bottlerocket-plain", host: both("/usr/lib/nvidia"), want: want("/usr/lib/nvidia")},
		{
			name: "bottlerocket-sysroot",
			host: both("/x86_64-bottlerocket-linux-gnu/sys-root/usr/lib/nvidia/tesla"),
			want: want("/x86_64-bottlerocket-linux-gnu/sys-root/usr/lib/nvidia/tesla"),
		},
		{
			name: "snap",
			host: both("/var/lib/snapd/hostfs/usr/lib/x86_64-linux-gnu"),
			want: want("/var/lib/snapd/hostfs/usr/lib/x86_64-linux-gnu"),
		},
		{name: "buildroot", host: both("/lib") + "nocache", want: want("/lib")},
		{
			name: "configured-first", dirs: []string{"/srv/nvidia", "srv/missing"},
			host: both("/srv/nvidia") + both("/usr/lib64"), want: want("/srv/nvidia"),
		},
		{
			name: "stale-cache", // it names a file that is gone
			host: both("/usr/lib64") + "cache libcuda.so.1 /usr/lib/x86_64-linux-gnu/libcuda.so.1\ndir /usr/lib/x86_64-linux-gnu",
			want: want("/usr/lib64"),
		},
		{name: "silent-cache", host: both("/usr/lib64") + "cache libc.so.6 /usr/lib64/libc.so.6", want: want("/usr/lib64")},
		{
			name: "two-versions", // ldconfig links to the newest, the module is older
			host: both("/usr/lib64") + "lib /usr/lib64/libcuda.so.565.1.2 libcuda.so.1\nlink /usr/lib64/libnvidia-ml.so.1 libnvidia-ml.so.565.1.2\n" +
				"lib /usr/lib64/libnvidia-ml.so.565.1.2\nlib /usr/lib/x86_64-linux-gnu/libcuda.so.565.1.2\nlink /usr/lib/x86_64-linux-gnu/libcuda.so.1 libcuda.so.565.1.2\n" +
				"cache libcuda.so.1 /usr/lib/x86_64-linux-gnu/libcuda.so.1\ncache libnvidia-ml.so.1 /usr/lib64/libnvidia-ml.so.1",
			want: want("/usr/lib64"),
		},
		{
			name: "wrong-word-size-first",
			host: "lib /usr/lib/x86_64-linux-gnu/libcuda.so." + v + " 32\n" + both("/usr/lib64"),
			want: want("/usr/lib64"),
		},
		{
			name: "empty-file-first",
			host: "empty /usr/lib/x86_64-linux-gnu/libcuda.so." + v + "\n" + both("/usr/lib64"),
			want: want("/usr/lib64"),
		},
		{
			name: "executable-first",
			host: "lib /usr/lib/x86_64-linux-gnu/libcuda.so." + v + " exec\n" + both("/usr/lib64"),
			want: want("/usr/lib64"),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.machine == 0 {
				tt.machine = elf.EM_X86_64
			}
			dir := host(t, tt.host)
			for _, calls := range []mounts.Calls{{}, {NoOpenat2: true}} {
				root, err := mounts.OpenRoot(dir, calls)
				if err != nil {
					t.Fatalf("open host: %v", err)
				}
				defer root.Close()
				files, err := Find(root, Query{
					Version: v, Capabilities: []string{"compute", "utility"}, Machine: tt.machine, LibraryDirs: tt.dirs,
				})
				if err != nil {
					t.Fatalf("Find with %+v: %v", calls, err)
				}
				if diff := cmp.Diff(tt.want, paths(files.Libraries)); diff != "" {
					t.Errorf("libraries with %+v (-want +got):\n%s", calls, diff)
				}
			}
		})
	}
}

// TestLayouts32 finds the 32-bit libraries, which no loader cache need name.
func TestLayouts32(t *testing.T) {
	t.Parallel()
	const v = "460.73.01"
	host64 := "lib /usr/lib/x86_64-linux-gnu/libcuda.so." + v + "\n"
	for _, tt := range []struct {
		name string
		host string
		want string
	}{
		{name: "lib32", host: "lib /usr/lib32/libcuda.so." + v + " 32", want: "/usr/lib32/libcuda.so." + v},
		{
			name: "multiarch",
			host: "lib /usr/lib/i386-linux-gnu/libcuda.so." + v + " 32",
			want: "/usr/lib/i386-linux-gnu/libcuda.so." + v,
		},
		{
			name: "debian",
			host: "lib /usr/lib/i386-linux-gnu/nvidia/current/libcuda.so." + v + " 32",
			want: "/usr/lib/i386-linux-gnu/nvidia/current/libcuda.so." + v,
		},
		{name: "fedora", host: "lib /usr/lib/libcuda.so." + v + " 32", want: "/usr/lib/libcuda.so." + v},
		{
			name: "by-cache",
			host: "lib /srv/x/libcuda.so." + v + " 32\n" +
				"link /srv/x/libcuda.so.1 libcuda.so." + v + "\n" +
				"cache libcuda.so.1 /srv/x/libcuda.so.1 32",
			want: "/srv/x/libcuda.so." + v,
		},
		{name: "other-version", host: "lib /usr/lib32/libcuda.so.470.1.2 32"},
		{name: "64-bit-file", host: "lib /usr/lib32/libcuda.so." + v},
		{name: "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files, err := Find(open(t, host(t, host64+tt.host)), Query{
				Version: v, Capabilities: []string{"compute", "compat32"}, Machine: elf.EM_X86_64, Compat32: true,
			})
			if err != nil {
				t.Fatalf("Find: %v", err)
			}
			got := ""
			for _, l := range files.Libraries {
				if l.Class == elf.ELFCLASS32 {
					got += l.Path
				}
			}
			if got != tt.want {
				t.Errorf("32-bit libraries: got %q, want %q", got, tt.want)
			}
			if warned := hasCode(files, "no-compat32"); warned != (tt.want == "") {
				t.Errorf("warned: got %v of %v", warned, files.Warnings)
			}
		})
	}
}

// hasCode tells whether a warning was given.
func hasCode(f Files, code string) bool {
	for _, w := range f.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}
