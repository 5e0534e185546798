package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// hook is built once for all tests.
func hook(t *testing.T) string {
	t.Helper()
	return lab.Hook(t)
}

const config = "version = 2\n# ours\n[plugins.\"io.containerd.grpc.v1.cri\"]\n  sandbox_image = \"localhost/pause:1\"\n"

// host makes a root directory with containerd's configuration.
func host(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	lab.Write(t, root+"/etc/containerd/config.toml", config)
	return root
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

func TestInstallAndRemove(t *testing.T) {
	source := hook(t)
	root := host(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"--root", root, "--source", source, "--unit="}) }()
	for range 200 {
		if strings.Contains(read(t, root+"/etc/containerd/config.toml"), "gpu-runtime") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if got := read(t, root+"/etc/containerd/config.toml"); !strings.Contains(got, `BinaryName = "/usr/local/bin/gpu-runtime"`) {
		t.Errorf("config.toml has no handler of ours:\n%s", got)
	}
	if read(t, root+"/usr/local/bin/gpu-hook") != read(t, source) {
		t.Error("the host has no copy of the program")
	}
	if info, err := os.Stat(root + "/usr/local/bin/gpu-hook"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the host's copy: %v %v, want mode 0755", info, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := read(t, root+"/etc/containerd/config.toml"); got != config {
		t.Errorf("config.toml after the end:\n%s\nwant\n%s", got, config)
	}
	for _, name := range []string{"gpu-hook", "gpu-hook.new", "gpu-runtime"} {
		if _, err := os.Lstat(filepath.Join(root, "usr/local/bin", name)); !os.IsNotExist(err) {
			t.Errorf("%s is still there (%v)", name, err)
		}
	}
}

func TestInstallTwiceNeedsNoRestart(t *testing.T) {
	source := hook(t)
	root := host(t)
	i := installer{root: root, binDir: "/usr/local/bin", source: source, engine: "containerd"}
	for _, want := range []bool{true, false} {
		if changed, err := i.install(t.Context()); err != nil || changed != want {
			t.Errorf("install = %v, %v, want %v", changed, err, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	source := hook(t)
	tests := []struct {
		name string
		make func(t *testing.T, root string)
		args []string
		want string
	}{
		{
			name: "another program of the name",
			make: func(t *testing.T, root string) {
				t.Helper()
				lab.Write(t, root+"/usr/local/bin/gpu-hook", "#!/bin/sh\n")
			},
			want: "there is another program of that name",
		},
		{
			name: "broken configuration",
			make: func(t *testing.T, root string) {
				t.Helper()
				lab.Write(t, root+"/etc/containerd/config.toml", "version = \n")
			},
			want: "config.toml",
		},
		{
			name: "a link out of the root",
			make: func(t *testing.T, root string) {
				t.Helper()
				lab.Link(t, t.TempDir(), root+"/usr/local")
			},
			want: "path escapes from parent",
		},
		{name: "no bus", make: func(*testing.T, string) {}, args: []string{"--unit=containerd.service"}, want: "restart containerd.service"},
		{name: "relative root", make: func(*testing.T, string) {}, args: []string{"--root=x"}, want: "absolute paths"},
		{name: "unknown engine", make: func(*testing.T, string) {}, args: []string{"--engine=x"}, want: "unknown engine"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := host(t)
			tt.make(t, root)
			before := read(t, root+"/etc/containerd/config.toml")
			err := run(t.Context(), append([]string{"--root", root, "--source", source, "--unit=", "--once"}, tt.args...))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("run = %v, want %q", err, tt.want)
			}
			if after := read(t, root+"/etc/containerd/config.toml"); after != before {
				t.Errorf("config.toml after a failure:\n%s", after)
			}
		})
	}
}
