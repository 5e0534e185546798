package mounts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPlaceFile(t *testing.T) {
	t.Parallel()
	hostDir := driver(t)
	volume := plant(t, t.TempDir(), "file file own", "empty leftover")
	inVolume := [][2]string{{volume, "vol"}}
	tests := []struct {
		name   string
		plant  []string
		binds  [][2]string
		path   string
		source string // "" = lib/libcuda.so.1
		flags  PlaceFlags
		err    error
		reason string
		want   Outcome
		after  []string // what stays in the image besides what was planted, without the mount
		gone   []string // what was planted and is no more
	}{
		{name: "nothing", plant: []string{"dir bin"}, path: "/bin/name", want: Made, after: []string{`-rw-r--r-- bin/name ""`}},
		{name: "no-directory", path: "/bin/name", want: Made, after: []string{"drwxr-xr-x bin", `-rw-r--r-- bin/name ""`}},
		{name: "leftover", plant: []string{"empty bin/name"}, path: "/bin/name", want: Made},
		{
			name: "dangling", plant: []string{"link bin/name nowhere"}, path: "/bin/name", want: Replaced,
			after: []string{`-rw-r--r-- bin/name ""`}, gone: []string{"Lrwxrwxrwx bin/name -> nowhere"},
		},
		{name: "image-file", plant: []string{"file bin/name own"}, path: "/bin/name", want: Left, reason: "regular file"},
		{name: "image-file-covered", plant: []string{"file bin/name own"}, path: "/bin/name", flags: Cover, want: Replaced},
		{
			name: "image-link", plant: []string{"link bin/name other", "file bin/other own"}, path: "/bin/name", flags: Cover, want: Left,
			reason: `a link to "other"`,
		},
		{name: "directory", plant: []string{"dir bin/name"}, path: "/bin/name", flags: Cover, want: Left, reason: "directory"},
		{name: "fifo", plant: []string{"fifo bin/name"}, path: "/bin/name", flags: Cover, want: Left, reason: "FIFO"},
		{name: "device", plant: []string{"char bin/name"}, path: "/bin/name", flags: Cover, want: Left, reason: "character device"},
		{
			name: "through-directory-link", plant: []string{"link bin usr", "dir usr"}, path: "/bin/name", want: Made,
			after: []string{`-rw-r--r-- usr/name ""`},
		},
		{
			name: "socket", plant: []string{"dir run"}, path: "/run/name", source: "run/socket", want: Made,
			after: []string{`-rw-r--r-- run/name ""`},
		},
		{name: "source-directory", path: "/data", source: "data", want: Made, after: []string{"drwxr-xr-x data"}},
		{name: "source-directory-on-empty", plant: []string{"dir data"}, path: "/data", source: "data", want: Made},
		{name: "source-directory-on-full", plant: []string{"file data/own x"}, path: "/data", source: "data", want: Left, reason: "directory"},
		{name: "source-directory-covers", plant: []string{"file data/own x"}, path: "/data", source: "data", flags: Cover, want: Replaced},
		{
			name: "source-directory-on-file", plant: []string{"file data x"}, path: "/data", source: "data", flags: Cover, want: Left,
			reason: "regular file",
		},
		{name: "source-directory-on-dangling", plant: []string{"link data none"}, path: "/data", source: "data", want: Left, reason: "dangling"},
		{name: "volume-missing", plant: []string{"dir vol"}, binds: inVolume, path: "/vol/name", want: Left, reason: "another mount"},
		{
			name: "volume-missing-directory", plant: []string{"dir vol"}, binds: inVolume, path: "/vol/sub/name", want: Left,
			reason: "another mount",
		},
		{name: "volume-leftover", plant: []string{"dir vol"}, binds: inVolume, path: "/vol/leftover", want: Made},
		{name: "volume-file", plant: []string{"dir vol"}, binds: inVolume, path: "/vol/file", want: Left, reason: "regular file"},
		{name: "volume-file-covered", plant: []string{"dir vol"}, binds: inVolume, path: "/vol/file", flags: Cover, want: Replaced},
		{
			name: "mounted-file", plant: []string{"empty bin/name"}, binds: [][2]string{{filepath.Join(volume, "file"), "bin/name"}},
			path: "/bin/name", want: Left, reason: "mounted",
		},
		{name: "directory-is-file", plant: []string{"file bin x"}, path: "/bin/name", err: ErrUnsafePath},
		{name: "directory-loops", plant: []string{"link bin bin"}, path: "/bin/name", err: ErrUnsafePath},
		{name: "no-name", path: "/", err: errAny},
	}
	volumeBefore := snapshot(t, volume)
	for _, way := range []string{"all", "no-mount-setattr", "none"} {
		for _, tt := range tests {
			t.Run(way+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				calls := everyCalls()[way]
				rootfs := plant(t, t.TempDir(), tt.plant...)
				want := snapshot(t, rootfs)
				r, b := box{Rootfs: rootfs, Binds: tt.binds}.start(t, calls)
				if tt.source == "" {
					tt.source = "lib/libcuda.so.1"
				}
				host := openRoot(t, hostDir, calls)
				p, again := prepare(t, host, tt.source, calls), prepare(t, host, tt.source, calls)
				b.do(t, func() error {
					got, reason, err := PlaceFile(r, tt.path, p, tt.flags)
					if !isErr(err, tt.err) || got != tt.want || !strings.Contains(reason, tt.reason) || (reason == "") != (tt.want != Left) {
						t.Fatalf("PlaceFile: got %v, %q, %v; want %v, %q, %v", got, reason, err, tt.want, tt.reason, tt.err)
					}
					if tt.err != nil || tt.want == Left {
						return nil
					}
					isMounted(t, r, tt.path, p)
					if got, _, err := PlaceFile(r, tt.path, again, tt.flags); err != nil || got != Kept {
						t.Errorf("PlaceFile again: got %v, %v; want it kept", got, err)
					}
					return nil
				})
				want = slices.DeleteFunc(want, func(line string) bool { return slices.Contains(tt.gone, line) })
				sortedEqual(t, snapshot(t, rootfs), append(want, tt.after...))
				sortedEqual(t, snapshot(t, volume), volumeBefore)
			})
		}
	}
}

// isMounted looks for the file, read-only.
func isMounted(t *testing.T, r *Root, path string, p *Prepared) {
	t.Helper()
	f, err := r.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || !p.is(&st) {
		t.Errorf("%s: got inode %d, %v; want %d", path, st.Ino, err, p.st.Ino)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		t.Fatal(err)
	}
	const want = unix.ST_RDONLY | unix.ST_NOSUID | unix.ST_NODEV
	if fs.Flags&(want|unix.ST_NOEXEC) != want {
		t.Errorf("%s: mount flags %#x; want ro, nosuid, nodev, and not noexec", path, fs.Flags)
	}
}

// TestPlaceFileDevice binds a device node as in a container where mknod cannot
// work: it opens, and a second node of the same device is kept.
func TestPlaceFileDevice(t *testing.T) {
	t.Parallel()
	hostDir := driver(t)
	for _, way := range []string{"all", "none"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			calls := everyCalls()[way]
			rootfs := plant(t, t.TempDir(), "dir dev")
			r, b := box{Rootfs: rootfs, Tmpfs: []string{"dev"}}.start(t, calls)
			host := openRoot(t, hostDir, calls)
			p, err := Prepare(Source{Root: host, Path: "dev/null", Device: true, Rdev: unix.Mkdev(1, 3)}, calls)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			b.do(t, func() error {
				dev, err := r.Sub("/dev")
				if err != nil {
					t.Fatal(err)
				}
				defer dev.Close()
				if got, reason, err := PlaceFile(dev, "nvidia0", p, 0); err != nil || got != Made {
					t.Fatalf("PlaceFile: got %v, %q, %v; want it made", got, reason, err)
				}
				f, err := os.OpenFile(filepath.Join(rootfs, "dev/nvidia0"), os.O_RDWR, 0)
				if err != nil {
					t.Errorf("open node: %v", err)
				} else {
					f.Close()
				}
				if err := unix.Mknod(filepath.Join(rootfs, "dev/own"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
					t.Fatal(err)
				}
				if got, _, err := PlaceFile(dev, "own", p, 0); err != nil || got != Kept {
					t.Errorf("PlaceFile on the same device: got %v, %v; want it kept", got, err)
				}
				return nil
			})
		})
	}
}

func TestPlaceFileReadOnly(t *testing.T) {
	t.Parallel()
	r, b := box{Rootfs: plant(t, t.TempDir(), "dir bin", "file bin/own x"), ReadOnly: true}.start(t, Calls{})
	host := openRoot(t, driver(t), Calls{})
	p := prepare(t, host, "bin/nvidia-smi", Calls{})
	b.do(t, func() error {
		if got, reason, err := PlaceFile(r, "/bin/new", p, Cover); got != Left || reason != reasonReadOnly || err != nil {
			t.Errorf("PlaceFile: got %v, %q, %v; want it left", got, reason, err)
		}
		if got, _, err := PlaceFile(r, "/bin/own", p, Cover); got != Replaced || err != nil {
			t.Errorf("PlaceFile over a file: got %v, %v; want it replaced", got, err)
		}
		return nil
	})
}

// TestPlaceFileFails makes the mount fail: neither the placeholder nor its
// directory may stay.
func TestPlaceFileFails(t *testing.T) {
	t.Parallel()
	hostDir := driver(t)
	for _, source := range []string{"bin/nvidia-smi", "data"} {
		t.Run(filepath.Base(source), func(t *testing.T) {
			t.Parallel()
			rootfs := plant(t, t.TempDir(), "dir usr")
			before := snapshot(t, rootfs)
			r, b := box{Rootfs: rootfs}.start(t, Calls{})
			p := prepare(t, openRoot(t, hostDir, Calls{NoOpenTree: true}), source, Calls{NoOpenTree: true})
			p.host += ".gone"
			b.do(t, func() error {
				if got, _, err := PlaceFile(r, "/usr/new/name", p, 0); err == nil {
					t.Errorf("PlaceFile: got %v; want an error", got)
				}
				return nil
			})
			sortedEqual(t, snapshot(t, rootfs), before)
		})
	}
}
