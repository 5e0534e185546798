package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// manifest is what the tests look at; Kubernetes has more.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Handler    string
	Metadata   struct{ Name string }
	Scheduling struct {
		NodeSelector map[string]string `yaml:"nodeSelector"`
	}
	Spec struct {
		RuntimeClassName string `yaml:"runtimeClassName"`
		Selector         struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
	}
}

type pod struct {
	NodeSelector map[string]string `yaml:"nodeSelector"`
	Grace        int               `yaml:"terminationGracePeriodSeconds"`
	Containers   []struct {
		Name, Image  string
		Args         []string
		VolumeMounts []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
	Volumes []struct {
		Name     string
		HostPath struct{ Path string } `yaml:"hostPath"`
	}
}

func manifests(t *testing.T) map[string]manifest {
	t.Helper()
	files, err := filepath.Glob("../*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]manifest{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var m manifest
			err := d.Decode(&m)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			out[m.Kind] = m
		}
	}
	return out
}

// TestManifests checks that the manifests fit each other and the installer.
func TestManifests(t *testing.T) {
	t.Parallel()
	all := manifests(t)
	class, set, example := all["RuntimeClass"], all["DaemonSet"], all["Pod"]
	if class.APIVersion != "node.k8s.io/v1" || class.Handler != "gpu" {
		t.Errorf("RuntimeClass of %s with handler %q, want node.k8s.io/v1 and gpu, which configure makes", class.APIVersion, class.Handler)
	}
	if example.Spec.RuntimeClassName != class.Metadata.Name {
		t.Errorf("the example asks for class %q, and there is %q", example.Spec.RuntimeClassName, class.Metadata.Name)
	}
	template := set.Spec.Template
	for key, value := range set.Spec.Selector.MatchLabels {
		if template.Metadata.Labels[key] != value {
			t.Errorf("the DaemonSet selects %s=%s, and its pods have %v", key, value, template.Metadata.Labels)
		}
	}
	for key, value := range class.Scheduling.NodeSelector {
		if template.Spec.NodeSelector[key] != value {
			t.Errorf("the class wants nodes with %s=%s, the DaemonSet is on %v", key, value, template.Spec.NodeSelector)
		}
	}
	if grace := time.Duration(template.Spec.Grace) * time.Second; grace <= stopTime {
		t.Errorf("grace period %v, want more than the installer's %v", grace, stopTime)
	}
	if len(template.Spec.Containers) != 1 {
		t.Fatalf("%d containers, want one", len(template.Spec.Containers))
	}
	c := template.Spec.Containers[0]
	i, err := parse(c.Args)
	if err != nil || len(i.more) > 0 || i.once {
		t.Fatalf("the installer reads %q as %+v, %v", c.Args, i, err)
	}
	if len(c.VolumeMounts) != 1 || c.VolumeMounts[0].MountPath != i.root || len(template.Spec.Volumes) != 1 ||
		template.Spec.Volumes[0].Name != c.VolumeMounts[0].Name || template.Spec.Volumes[0].HostPath.Path != "/" {
		t.Errorf("the host's root is not at %s: %+v %+v", i.root, c.VolumeMounts, template.Spec.Volumes)
	}
}
