package state

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// largeConfig is a config.json of about 50 kB as Docker and kubelet write
// them: environment of service variables, seccomp profile, hooks with the
// daemon's environment.
func largeConfig() []byte {
	list := func(n int, format string) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf(format, i)
		}
		return out
	}
	var mounts, syscalls []any
	for i := range 25 {
		mounts = append(mounts, map[string]any{
			"destination": fmt.Sprintf("/data/volume-%02d", i), "type": "bind",
			"source":  fmt.Sprintf("/var/lib/kubelet/pods/0f2c/volumes/kubernetes.io~empty-dir/volume-%02d", i),
			"options": []string{"rbind", "rprivate", "rw"},
		})
	}
	for i := range 30 {
		syscalls = append(syscalls, map[string]any{"names": list(78, fmt.Sprintf("syscall_%02d", i)+"_%02d"), "action": "SCMP_ACT_ALLOW"})
	}
	caps := list(14, "CAP_NUMBER_%02d")
	config := map[string]any{
		"ociVersion": "1.0.2-dev",
		"process": map[string]any{
			"user": map[string]any{"uid": 0, "gid": 0}, "args": []string{"python3", "serve.py"}, "cwd": "/",
			"env":          append(list(120, "SERVICE_%03d_PORT_8080_TCP_ADDR=10.96.12.34"), "NVIDIA_VISIBLE_DEVICES=0,2"),
			"capabilities": map[string]any{"bounding": caps, "effective": caps, "permitted": caps},
		},
		"root":        map[string]any{"path": "rootfs"},
		"mounts":      mounts,
		"annotations": map[string]string{"io.kubernetes.cri.container-type": "container"},
		"hooks":       map[string]any{"prestart": []any{map[string]any{"path": "/usr/bin/gpu-hook", "env": list(37, "DAEMON_VARIABLE_%02d=value")}}},
		"linux": map[string]any{
			"resources":   map[string]any{"devices": []any{map[string]any{"allow": false, "access": "rwm"}}},
			"cgroupsPath": "/kubepods/besteffort/pod0f2c/c1",
			"seccomp":     map[string]any{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": syscalls},
			"maskedPaths": list(8, "/proc/masked%d"), "readonlyPaths": list(5, "/proc/read%d"),
		},
	}
	data, err := json.Marshal(config)
	if err != nil {
		panic(err)
	}
	return data
}

func BenchmarkStateAndBundle(b *testing.B) {
	dir := b.TempDir()
	config := largeConfig()
	if err := os.WriteFile(filepath.Join(dir, ConfigName), config, 0o600); err != nil {
		b.Fatal(err)
	}
	text := fmt.Sprintf(`{"ociVersion":"1.0.2-dev","id":"c1","status":"creating","pid":4242,"bundle":%q}`, dir)
	b.SetBytes(int64(len(config)))
	for b.Loop() {
		s, err := Read(strings.NewReader(text))
		if err != nil {
			b.Fatal(err)
		}
		bundle, err := s.OpenBundle()
		if err != nil || len(bundle.Spec.Mounts) != 25 {
			b.Fatal(err)
		}
	}
}
