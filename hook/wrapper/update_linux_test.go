package wrapper

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/hook/record"
)

func TestFindResources(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, args string
		want       resources
		found      bool
	}{
		{"containerd-2", "update --resources=- c1", resources{1, "--resources=", "-"}, true},
		{"containerd-1.6", "update --resources - c1", resources{2, "", "-"}, true},
		{"podman", "update --resources=/tmp/r c1", resources{1, "--resources=", "/tmp/r"}, true},
		{"short", "update -r - c1", resources{2, "", "-"}, true},
		{"short-joined", "update -r/tmp/r c1", resources{1, "-r", "/tmp/r"}, true},
		{"name-first", "update c1 --resources /tmp/r", resources{3, "", "/tmp/r"}, true},
		{"other-options", "update --cpu-quota 7 c1", resources{}, false},
		{"no-value", "update c1 --resources", resources{}, false},
		{"behind-dashes", "update -- --resources=-", resources{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, found := findResources(strings.Fields(tt.args), 1)
			if got != tt.want || found != tt.found {
				t.Errorf("findResources(%s) = %+v, %v, want %+v, %v", tt.args, got, found, tt.want, tt.found)
			}
		})
	}
}

// remembered is a record directory with containers that run: this process.
func remembered(t *testing.T, ids ...string) string {
	t.Helper()
	dir := t.TempDir()
	start, err := record.StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		err := record.Store{Dir: dir}.Put(record.Record{
			ID: id, PID: os.Getpid(), Start: start, Access: "rw", Nodes: []record.Node{{Path: "/dev/nvidia0", Major: 195}, {Path: "/dev/nvidiactl", Major: 195, Minor: 255}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	denyAll   = `{"devices":[{"allow":false,"access":"rwm"}],"memory":{},"cpu":{"shares":200}}`
	withOurs  = `{"devices":[{"allow":false,"access":"rwm"},{"allow":true,"type":"c","major":195,"minor":0,"access":"rw"},{"allow":true,"type":"c","major":195,"minor":255,"access":"rw"}],"memory":{},"cpu":{"shares":200}}`
	noDevices = `{"cpu":{"quota":100000,"period":100000}}`
)

func TestKeepRulesInAFile(t *testing.T) {
	t.Parallel()
	dir := remembered(t, "c1")
	tests := []struct {
		name, id, text, want string
		same                 bool // the command line stays
	}{
		{"deny-all", "c1", denyAll, withOurs, false},
		{"granted", "c1", withOurs, withOurs, false},
		{"allow-all", "c1", `{"devices":[{"allow":true,"access":"rwm"}]}`, `{"devices":[{"allow":true,"access":"rwm"}]}`, false},
		{"no-devices", "c1", noDevices, noDevices, false},
		{"empty-list", "c1", `{"devices":[]}`, `{"devices":[]}`, false},
		{"null", "c1", `{"devices":null}`, `{"devices":null}`, false},
		{"broken", "c1", `{"devices":[`, `{"devices":[`, false},
		{"unknown", "c1", `{"devices":[{"allow":false}],"x":1e400}`, strings.Replace(withOurs[:strings.Index(withOurs, `,"memory"`)], `,"access":"rwm"`, "", 1) + `,"x":1e400}`, false},
		{"another-container", "c2", denyAll, denyAll, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "r")
			write(t, file, tt.text)
			args := []string{"--root", "/r", "update", "--resources=" + file, tt.id}
			got := Runner{RunDir: dir}.keepRules(args, 3)
			path := strings.TrimPrefix(got[3], "--resources=")
			if tt.same != (path == file) || len(got) != len(args) {
				t.Errorf("arguments %q", got)
			}
			if diff := cmp.Diff(tt.want, read(t, path)); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
			if read(t, file) != tt.text {
				t.Error("the engine's file was changed")
			}
		})
	}
	for _, args := range [][]string{{"update", "--resources", "/nonexistent", "c1"}, {"update", "--resources", "/dev/zero", "c1"}, {"update", "c1"}} {
		if got := (Runner{RunDir: dir}).keepRules(args, 1); cmp.Diff(args, got) != "" {
			t.Errorf("keepRules(%q) = %q", args, got)
		}
	}
	if _, found := (Runner{RunDir: remembered(t, "c1", "c2")}).recordOf([]string{"c1", "c2"}); found {
		t.Error("two containers are named and one is taken")
	}
}

// TestKeepRulesOnStandardInput runs the whole wrapper: the runtime reads the
// list with our rules, from the start, and its command line is the engine's.
func TestKeepRulesOnStandardInput(t *testing.T) {
	t.Parallel()
	runc, dir := runtimeProgram(t), remembered(t, "c1")
	for _, tt := range []struct{ name, id, want string }{{"GPU", "c1", withOurs}, {"other", "c2", denyAll}} {
		for _, word := range []string{"--resources=-", "--resources -"} {
			args := append(append([]string{"update"}, strings.Fields(word)...), tt.id)
			got, code, stderr := start(t, "/none", runtimes(runc), args, func(cmd *exec.Cmd) {
				cmd.Env = append(cmd.Env, runDirVar+"="+dir)
				cmd.Stdin = strings.NewReader(denyAll)
			})
			if got == nil || code != 42 {
				t.Fatalf("%s ended with %d: %s", tt.name, code, stderr)
			}
			if diff := cmp.Diff(tt.want, got.Stdin); diff != "" {
				t.Errorf("%s: resources (-want +got):\n%s", tt.name, diff)
			}
			if diff := cmp.Diff(args, got.Args[1:]); diff != "" {
				t.Errorf("%s: arguments (-want +got):\n%s", tt.name, diff)
			}
		}
	}
}
