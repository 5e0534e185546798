package hook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/state"
)

func TestGatherNamed(t *testing.T) {
	t.Parallel()
	entry := func(device string) string {
		return `{"path":"/usr/bin/gpu-hook","args":["gpu-hook","createRuntime","--device","` + device + `"]}`
	}
	tests := []struct {
		name    string
		entries []string
		own     []string
		want    []string // nil = an earlier entry has done it
	}{
		{"alone", []string{entry("0")}, []string{"0"}, []string{"0", "0"}},
		{"first", []string{entry("0"), entry("1")}, []string{"0"}, []string{"0", "0", "1"}},
		{"second", []string{entry("0"), entry("1")}, []string{"1"}, nil},
		{"same-twice", []string{entry("0"), entry("0")}, []string{"0"}, []string{"0", "0", "0"}},
		{"behind-others", []string{`{"path":"/bin/true","args":["x","--device","7"]}`, entry("0")}, []string{"0"}, []string{"0", "0"}},
		{"not-listed", []string{entry("0")}, []string{"5"}, []string{"5", "0"}},
		{"no-list", nil, []string{"0"}, []string{"0"}},
		{"not-CDI", []string{entry("0")}, nil, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			config := `{"hooks":{"createRuntime":[` + strings.Join(tt.entries, ",") + `]}}`
			if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644); err != nil {
				t.Fatal(err)
			}
			c := call{options: Options{Named: tt.own}, bundle: state.Bundle{Dir: dir}}
			if err := c.gatherNamed(); err != nil {
				t.Fatal(err)
			}
			if (c.notRequested != nil) != (tt.want == nil) {
				t.Fatalf("left alone: %v", c.notRequested)
			}
			if diff := cmp.Diff(tt.want, append([]string{}, c.options.Named...)); tt.want != nil && diff != "" {
				t.Errorf("devices (-want +got):\n%s", diff)
			}
		})
	}
	c := call{options: Options{Named: []string{"0"}}, bundle: state.Bundle{Dir: t.TempDir()}}
	if err := c.gatherNamed(); fault.CodeOf(err) != fault.State {
		t.Errorf("without a config.json: %v, want an error 10", err)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		o    Options
		want string
	}{
		{"none", Options{}, ""},
		{"all", Options{ConfigPath: "c.toml", HostRoot: "/h", DriverRoot: "/d", LogLevel: "debug"}, "--config " + wd + "/c.toml --host-root /h --driver-root /d --log-level debug"},
	} {
		if got := strings.Join(tt.o.Arguments(), " "); got != tt.want {
			t.Errorf("%s: Arguments = %q, want %q", tt.name, got, tt.want)
		}
	}
}
