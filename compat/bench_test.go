package compat

import (
	"fmt"
	"io/fs"
	"testing"
)

// fullImage has a toolkit, a compat package, wheels among 400 other packages
// and ordinary system directories.
func fullImage(tb testing.TB, toolkit bool) fs.FS {
	tb.Helper()
	const site = "usr/local/lib/python3.12/dist-packages"
	note := plainLibrary(`{"CUDA version":"12.4","driver":[450,470,525,535]}` + "\x00").build()
	libcuda := string(append(note, make([]byte, 20<<20)...))
	nodes := append(wheel12(site, "12.4.127"), compatSet("usr/local/cuda-12.4/compat", "550.54.14", libcuda)...)
	nodes = append(nodes, link("usr/local/cuda", "/etc/alternatives/cuda"), link("usr/local/cuda-12", "/etc/alternatives/cuda-12"),
		link("etc/alternatives/cuda", "/usr/local/cuda-12.4"), link("etc/alternatives/cuda-12", "/usr/local/cuda-12.4"),
		link("lib", "usr/lib"), link("lib64", "usr/lib64"), dir("usr/lib64"))
	for i := range 400 {
		nodes = append(nodes, dir(fmt.Sprintf("%s/package_%d-1.0.dist-info", site, i)))
		nodes = append(nodes, file(fmt.Sprintf("usr/lib/x86_64-linux-gnu/lib%d.so.1", i), ""))
	}
	for i := range 60 {
		nodes = append(nodes, dir(fmt.Sprintf("usr/lib/dir%d", i)))
	}
	for _, name := range []string{"cublas", "cudnn", "cufft", "cusolver", "nccl", "nvjitlink"} {
		nodes = append(nodes, dir(site+"/nvidia/"+name+"/lib"))
	}
	if toolkit {
		nodes = append(nodes, file("usr/local/cuda-12.4/version.json", versionJSON124))
	}
	return onDisk(tb, nodes...)
}

// BenchmarkCompat is the whole package on one container start: detection, both
// searches, requirements, decision, hiding. The files are in the page cache.
func BenchmarkCompat(b *testing.B) {
	libDirs := []string{"/usr/local/nvidia/lib", "/usr/local/nvidia/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib", "/usr/lib", "/lib64", "/usr/lib64"}
	for _, bb := range []struct {
		name    string
		toolkit bool
		env     []string
		want    string
	}{
		{"variable", true, []string{"CUDA_VERSION=12.4.1", "NVIDIA_REQUIRE_CUDA=" + cuda130() + " cuda>=12"}, "env:CUDA_VERSION"},
		{"toolkit", true, []string{"NVIDIA_REQUIRE_CUDA=cuda>=12"}, "file:/usr/local/cuda-12.4/version.json"},
		{"wheels", false, nil, "file:/usr/local/lib/python3.12/dist-packages/nvidia_cuda_runtime_cu12-12.4.127.dist-info"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			root := fullImage(b, bb.toolkit)
			in := Input{Driver: driver(b, "470.256.02"), GPUs: []GPU{a100}}
			b.ReportAllocs()
			for b.Loop() {
				in.Runtime, _ = DetectRuntime(root, environ(bb.env...), libDirs)
				in.Overlays, _ = FindOverlays(root)
				decision := Decide(in)
				_, err := CheckRequirements(bb.env, Facts{CUDA: decision.EffectiveCUDA, Driver: in.Driver, GPUs: in.GPUs}, false)
				dirs, _ := Hide("/usr/local/nvidia/lib64:/usr/local/cuda/compat", in, decision)
				if in.Runtime.Source != bb.want || decision.Kind != KindForward || err != nil || dirs != nil {
					b.Fatalf("%q, %s, %v, %v", in.Runtime.Source, decision.Kind, err, dirs)
				}
			}
		})
	}
}
