package engines

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// criClient builds the client, a module of its own, into the cache.
func criClient(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("cri/*")
	check(t, err)
	sum := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(t, err)
		sum.Write(text)
	}
	return filepath.Join(lab.Once(t, "cri-client/"+hex.EncodeToString(sum.Sum(nil)[:6]), func(dir string) {
		cmd := exec.Command("go", "build", "-C", "cri", "-trimpath", "-o", filepath.Join(dir, "cri"), ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			if _, missing := os.Stat("cri/go.sum"); missing == nil && bytes.Contains(out, []byte("dial tcp")) {
				need.Lacks(t, "network", string(out))
			}
			t.Fatalf("build the CRI client: %v\n%s", err, out)
		}
	}), "cri")
}

// The order and the report of one container's life; see cri/order.go.
type criOrder struct {
	Name, Handler, CgroupParent, LogDir, Image string
	Args                                       []string
	Env, Annotations                           map[string]string
	Mounts                                     []criMount
	CDI                                        []string
	Privileged                                 bool
	Exec                                       [][]string
	Update                                     bool
	ExecAfter                                  [][]string
	WaitFor                                    string
	Grace                                      int64
}

type criMount struct{ Host, Container string }

type criReport struct {
	Error, Step     string
	Exec, ExecAfter []criSaid
	MS              map[string]int64
}

type criSaid struct {
	Code           int32
	Stdout, Stderr string
}

// pod takes one container through its life in a machine.
func (m *machine) pod(t *testing.T, o criOrder) criReport {
	t.Helper()
	o.CgroupParent, o.LogDir, o.Image = cmp.Or(m.slice, "/"+m.parent), m.dir+"/logs", cmp.Or(o.Image, baseImage)
	if o.Args == nil {
		o.Args = []string{"/bin/sleep", "1000"}
	}
	if o.Exec == nil {
		o.Exec = [][]string{{"/bin/probe"}}
	}
	if o.Update || o.WaitFor != "" && len(o.Exec) > 0 {
		o.ExecAfter = o.Exec
	}
	got := m.feed(t, "mkdir -p "+o.LogDir+"; cri /run/containerd/containerd.sock", bytes.NewReader(encode(t, o)))
	var r criReport
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("read the CRI client's report: %v\n%s", err, got.text())
	}
	return r
}

// lived checks that a container went through its whole life.
func (r criReport) lived(t *testing.T, m *machine) criReport {
	t.Helper()
	if r.Error != "" {
		t.Fatalf("%s\n%s", r.Error, m.tail("/var/log/gpu-hook.log"))
	}
	return r
}
