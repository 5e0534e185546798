package cgroup

import (
	"errors"
	"io/fs"
	"testing"
)

func TestRuleError(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  *RuleError
		want string
	}{
		{
			"rule", &RuleError{Op: "allow", What: "c 195:0 rw", In: "/sys/fs/cgroup/devices/a", Err: fs.ErrPermission},
			"allow c 195:0 rw in /sys/fs/cgroup/devices/a: permission denied",
		},
		{"process", &RuleError{Op: "find cgroup of", What: "process 7", Err: ErrNoProcess}, "find cgroup of process 7: process is gone"},
		{"no object", &RuleError{Op: "check rules", Err: ErrNoCgroup}, "check rules: cgroup is not reachable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.err.Error(); got != tt.want {
				t.Errorf("Error: got %q, want %q", got, tt.want)
			}
			if !errors.Is(tt.err, tt.err.Err) {
				t.Error("the cause is lost")
			}
		})
	}
}

func TestBadRequest(t *testing.T) {
	t.Parallel()
	l, err := Detect(selfPID())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, r := range []Rule{{}, {Type: 'b', Major: 8, Access: "r"}, char(195, 0, ""), char(1<<12, 0, "rw")} {
		var rule *RuleError
		if _, err := l.Allow(t.Context(), Request{PID: selfPID(), Rules: []Rule{r}}); !errors.As(err, &rule) {
			t.Errorf("Allow of %v: got %v, want a RuleError", r, err)
		}
	}
	if res, err := l.Allow(t.Context(), Request{PID: selfPID()}); err != nil || res.Way != WayNone || res.Reason == "" {
		t.Errorf("Allow of no rules: got %+v, %v, want nothing done", res, err)
	}
}

func TestRuleNames(t *testing.T) {
	t.Parallel()
	three := []Rule{char(195, 0, "rw"), char(195, 1, "rw"), char(195, 2, "r")}
	tests := []struct {
		name  string
		rules []Rule
		want  string
	}{
		{"one", three[:1], "c 195:0 rw"},
		{"three", three, "c 195:0 rw, c 195:1 rw, c 195:2 r"},
		{"five", append(three, three[:2]...), "c 195:0 rw, c 195:1 rw, c 195:2 r and 2 more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := ruleNames(tt.rules); got != tt.want {
				t.Errorf("ruleNames: got %q, want %q", got, tt.want)
			}
		})
	}
}
