package lab

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// UserID is the ordinary user of rootless containers. No machine's account has
// to have it: a runtime asks for no name where it maps no other id.
const UserID = 61001

// RunAsUser is [Run] with a runtime that an ordinary user starts. The bundle's
// folder and its root must be the user's; see [Bundle.GiveTo].
func RunAsUser(t T, rt Runtime, b *Bundle, box Box) Result {
	t.Helper()
	need.Root(t)
	need.MountNS(t)
	run := filepath.Join(b.Dir, "run")
	script := box.Cgroups.script(t) + box.Setup + "\n"
	script += fmt.Sprintf("mkdir -p %[1]s\nchown %[2]d:%[2]d %[1]s\nchmod 700 %[1]s\ncd %[3]s\n%[4]s", run, UserID, b.Dir, badUmask)
	script += fmt.Sprintf("exec setpriv --reuid %[1]d --regid %[1]d --clear-groups --reset-env env XDG_RUNTIME_DIR=%[2]s %[3]s --root %[2]s/state run --bundle %[4]s %[5]s </dev/null\n",
		UserID, run, strings.Join(append([]string{rt.Path}, rt.Args...), " "), b.Dir, b.ID)
	limit := box.Limit
	if limit == 0 {
		limit = time.Minute
	}
	r := sh(t, script, limit)
	r.Facts = ParseFacts(t, r.Stdout)
	r.Log = Content(b.Log)
	return r
}

// GiveTo makes everything of the bundle, its root included, a user's.
func (b *Bundle) GiveTo(t T, id int) {
	t.Helper()
	command(t, "", nil, "chown", "-Rh", fmt.Sprintf("%d:%d", id, id), b.Dir, b.Root)
}
