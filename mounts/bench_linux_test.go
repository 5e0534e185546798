package mounts

import (
	"fmt"
	"path/filepath"
	"testing"
)

// BenchmarkTree measures the private tree of a whole driver, 30 files and 30
// links, from Prepare to the read-only tmpfs. Each round has a namespace of its
// own, which is not counted.
func BenchmarkTree(b *testing.B) {
	var spec []string
	for i := range 30 {
		spec = append(spec, fmt.Sprintf("file lib/libnvidia-%d.so.550 x", i))
	}
	hostDir := plant(b, b.TempDir(), spec...)
	for _, way := range []string{"all", "no-openat2", "no-mount-setattr", "none"} {
		b.Run(way, func(b *testing.B) {
			calls := everyCalls()[way]
			rootfs := plant(b, b.TempDir(), "dir usr/local/nvidia")
			host := openRoot(b, hostDir, calls)
			r, box := box{Rootfs: rootfs}.start(b, calls)
			for b.Loop() {
				tr := Tree{At: "/usr/local/nvidia"}
				for i := range 30 {
					name := fmt.Sprintf("libnvidia-%d.so", i)
					p, err := Prepare(Source{Root: host, Path: "lib/" + name + ".550"}, calls)
					if err != nil {
						b.Fatal(err)
					}
					tr.Files = append(tr.Files, TreeFile{Path: "lib64/" + name + ".550", From: p})
					tr.Links = append(tr.Links, Link{Path: "lib64/" + name, Target: name + ".550"})
				}
				box.do(b, func() error {
					_, err := tr.Build(r, calls)
					return err
				})
				b.StopTimer()
				for _, f := range tr.Files {
					f.From.Close()
				}
				box.do(b, func() error {
					d, err := r.Dir(tr.At)
					if err != nil {
						return err
					}
					defer r.retire()
					return detach(int(d.Fd()))
				})
				b.StartTimer()
			}
		})
	}
}

// BenchmarkPlaceLink measures 30 links in a directory of the container.
func BenchmarkPlaceLink(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		r, box := box{Rootfs: plant(b, b.TempDir(), "dir usr/lib")}.start(b, Calls{})
		b.StartTimer()
		box.do(b, func() error {
			for i := range 30 {
				if _, _, err := PlaceLink(r, Link{Path: fmt.Sprintf("/usr/lib/lib%d.so", i), Target: "/usr/local/nvidia/lib64/lib.so"}); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	rootfs := plant(b, b.TempDir(), "file usr/lib/x86_64-linux-gnu/libcuda.so.1 x", "link lib usr/lib")
	path := filepath.Join("/lib/x86_64-linux-gnu/libcuda.so.1")
	for way, calls := range bothWays() {
		r := openRoot(b, rootfs, calls)
		b.Run("Open/"+way, func(b *testing.B) {
			for b.Loop() {
				f, err := r.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
		b.Run("Dir/"+way, func(b *testing.B) {
			for b.Loop() {
				if _, err := r.Dir("/lib/x86_64-linux-gnu"); err != nil {
					b.Fatal(err)
				}
				r.retire()
			}
		})
	}
}

// BenchmarkMkdirAll makes two directories.
func BenchmarkMkdirAll(b *testing.B) {
	r := openRoot(b, plant(b, b.TempDir(), "dir usr"), Calls{})
	for b.Loop() {
		_, made, err := r.mkdirAll("/usr/local/nvidia")
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		made.remove()
		r.retire()
		b.StartTimer()
	}
}
