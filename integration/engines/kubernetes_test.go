package engines

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/packaging/image/archive"
)

// installerTag is the image that the DaemonSet names.
const installerTag = "localhost/gpu-hook:devel"

// installerImage makes what "make image" makes.
func installerImage(t *testing.T) string {
	t.Helper()
	dir := lab.Temp(t)
	lab.Build(t, dir+"/gpu-hook-installer", "./packaging/kubernetes/installer")
	image := archive.Image{Tag: installerTag, Architecture: runtime.GOARCH, Entrypoint: []string{"/gpu-hook-installer"}}
	for name, file := range map[string]string{"gpu-hook": os.Getenv(lab.BinaryVar), "gpu-hook-installer": dir + "/gpu-hook-installer"} {
		data, err := os.ReadFile(file)
		check(t, err)
		image.Files = append(image.Files, archive.File{Path: name, Data: data, Executable: true})
	}
	var out bytes.Buffer
	check(t, archive.Write(&out, image))
	check(t, os.WriteFile(dir+"/installer.tar", out.Bytes(), 0o644))
	return dir + "/installer.tar"
}

// daemonSet is the part of the manifest that a kubelet hands to the runtime.
type daemonSet struct {
	Spec struct {
		Template struct {
			Spec struct {
				Grace      int64 `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Image        string
					Args         []string
					VolumeMounts []struct {
						MountPath string `yaml:"mountPath"`
					} `yaml:"volumeMounts"`
				}
				Volumes []struct {
					HostPath struct{ Path string } `yaml:"hostPath"`
				}
			}
		}
	}
}

// installerPod is what the DaemonSet runs on a node.
func installerPod(t *testing.T) criOrder {
	t.Helper()
	text, err := os.ReadFile("../../packaging/kubernetes/daemonset.yaml")
	check(t, err)
	var set daemonSet
	check(t, yaml.Unmarshal(text, &set))
	spec := set.Spec.Template.Spec
	c := spec.Containers[0]
	return criOrder{
		Name: "installer", Image: c.Image, Args: append([]string{"/gpu-hook-installer"}, c.Args...),
		Mounts:     []criMount{{spec.Volumes[0].HostPath.Path, c.VolumeMounts[0].MountPath}},
		Privileged: true, Grace: spec.Grace, Exec: [][]string{},
	}
}

// kubernetes runs the DaemonSet's pod: while it runs the node has the handler,
// after its end the bytes that were there before.
func (d *containerd) kubernetes(t *testing.T) {
	t.Helper()
	d.try(t, d.cell, "Kubernetes: DaemonSet", func(t *testing.T) {
		d.m.must(t, "gpu-hook configure containerd --remove; rm /usr/local/bin/gpu-hook; ctr -n k8s.io images import "+d.installer)
		o := installerPod(t)
		o.Args = append(o.Args, "--unit=") // There is no systemd here.
		o.WaitFor = d.m.dir + "/end"
		done := make(chan criReport, 1)
		go func() { done <- d.m.pod(t, o) }()
		for range 500 {
			if d.m.read("/usr/local/bin/gpu-hook") != "" && strings.Contains(d.m.read(containerdFile), "gpu-runtime") {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		// The installer asks systemd for this; its own container goes on.
		d.restart(t)
		r := d.m.pod(t, criOrder{Name: "user", Handler: "gpu", Env: asksTwo()})
		lab.Write(t, o.WaitFor, "")
		if r := <-done; r.Error != "" {
			t.Errorf("the installer's pod: %s", r.Error)
		}
		if t.Failed() || r.Error != "" {
			t.Fatalf("%s\n%s", r.Error, d.m.tail(d.m.dir+"/logs/installer.log"))
		}
		wantGPUs(t, r.Exec[0].Stdout, cuda535)
		if d.m.read("/usr/local/bin/gpu-hook") != "" {
			t.Error("the program is still on the node")
		}
		d.wantBefore(t)
		lab.Install(t, os.Getenv(lab.BinaryVar), d.m.path("/usr/local/bin/gpu-hook"))
	})
}
