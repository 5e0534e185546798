package integration

import (
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// planned is what "gpu-hook plan" says of a bundle. A plan that ends with an
// error is one, too: see [hook.Plan.Exit]. The hook's own folder of the machine
// is not touched: what it keeps there is for MIG names only, see plannedInBox.
func planned(t *testing.T, b *lab.Bundle) hook.Plan {
	t.Helper()
	args := append(b.Hook[1:len(b.Hook):len(b.Hook)], "plan", "--bundle", b.Dir, "--format", "json")
	cmd := exec.Command(b.Hook[0], args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	watchdog := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("run gpu-hook plan: %v", err)
	}
	return readPlan(t, cmd.ProcessState.ExitCode(), stdout.String(), stderr.String())
}

// plannedInBox is planned with a /run of its own.
func plannedInBox(t *testing.T, b *lab.Bundle) hook.Plan {
	t.Helper()
	r := lab.InBox(t, lab.Machine, ownRun+strings.Join(b.Hook, " ")+" plan --bundle "+b.Dir+" --format json\n")
	return readPlan(t, r.Code, r.Stdout, r.Stderr)
}

// readPlan reads the output of "gpu-hook plan". A request that cannot be read
// has no plan: then there is only the line on stderr.
func readPlan(t *testing.T, code int, stdout, stderr string) hook.Plan {
	t.Helper()
	if code != 0 && stdout == "" {
		line, rest, _ := strings.Cut(stderr, "\n")
		if !strings.HasPrefix(line, "gpu-hook: ") || rest != "" {
			t.Fatalf("gpu-hook plan ended with %d: %s", code, stderr)
		}
		_, cure, _ := strings.Cut(line, "; ")
		return hook.Plan{Exit: &hook.Exit{Code: code, Line: line, Cure: cure}}
	}
	var p hook.Plan
	if err := json.Unmarshal([]byte(stdout), &p); err != nil {
		t.Fatalf("read the plan: %v\n%s\n%s", err, stdout, stderr)
	}
	if p.Exit == nil || p.Exit.Code != code {
		t.Fatalf("the plan says that the hook would end with %+v and gpu-hook plan ended with %d", p.Exit, code)
	}
	return p
}

// plannedOK is a plan that works.
func plannedOK(t *testing.T, b *lab.Bundle) hook.Plan {
	t.Helper()
	p := planned(t, b)
	if p.Exit.Code != 0 || p.Action != hook.Inject {
		t.Fatalf("the plan ends with %d: %s (action %s: %s)", p.Exit.Code, p.Exit.Line, p.Action, p.Reason)
	}
	return p
}

// codes are the codes of a plan's warnings, each once.
func codes(p hook.Plan) []string {
	var out []string
	for _, w := range p.Warnings {
		out = append(out, w.Code)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// warning is the first warning of a code, "" where there is none.
func warning(p hook.Plan, code string) string {
	for _, w := range p.Warnings {
		if w.Code == code {
			return w.Message
		}
	}
	return ""
}

// nodePaths are the device nodes of a plan.
func nodePaths(p hook.Plan) []string {
	out := []string{}
	for _, n := range p.DeviceNodes {
		out = append(out, n.Path)
	}
	return out
}

// sourceOf is the host file behind a name of the container, "" where there is
// none.
func sourceOf(p hook.Plan, target string) string {
	for _, m := range p.Mounts {
		if m.Target == target {
			return m.Source
		}
	}
	return ""
}

// linkOf is the text of a link in the container, "" where there is none.
func linkOf(p hook.Plan, name string) string {
	for _, l := range p.Symlinks {
		if l.Path == name {
			return l.Target
		}
	}
	return ""
}

// planBundle is a bundle for plans: a container root that nothing runs in.
func planBundle(t *testing.T, host *lab.StandIn, root string, env ...string) *lab.Bundle {
	t.Helper()
	return lab.NewBundle(t, root, lab.Options{Host: host, Env: env, Config: lab.NoCgroups})
}
