package systemd

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
)

// scenario is one container in the box.
type scenario struct {
	name    string
	how     string   // Words for the hook.
	steps   []string // Commands while the witness runs; "again" runs the rules once more.
	runtime string   // "" is the box's.
	few     bool     // Only in boxes that name it.
}

const (
	reload = "systemctl daemon-reload"
	reexec = "systemctl daemon-reexec"
)

// unsettle is what drops rules that systemd does not know.
var unsettle = []string{
	reload, reexec, "systemctl set-property --runtime SCOPE MemoryMax=200M", reload,
	"systemctl set-property SCOPE CPUWeight=50 TasksMax=77", reload, reexec, reload, reload,
}

var scenarios = []scenario{
	{name: "told", steps: unsettle},
	{name: "twice", how: "twice", steps: unsettle},
	{name: "reload-first", how: "reload", steps: unsettle},
	{name: "not-told", how: "nobus", steps: []string{reload, reload, reload}},
	{name: "reapplied", how: "nobus", steps: append([]string{reload, "again"}, unsettle...)},
	{name: "many-reloads", steps: repeated(reload, 20, reexec, 5)},
	{name: "module", runtime: "/box/runc-module", steps: unsettle, few: true},
	{name: "crun", runtime: "crun", steps: unsettle, few: true},
	{name: "userns", how: "userns", steps: unsettle, few: true},
	{name: "user", how: "userns user", runtime: "/box/runc-module", steps: []string{asUser + reload + " --user", reload, reexec, asUser + reload + " --user"}, few: true},
	{name: "binary", how: "binary nobus", steps: append([]string{reload, reapplyCheck, reapplyOne}, unsettle...), few: true},
}

// asUser runs a command as an ordinary user with a manager of its own.
const asUser = "setpriv --reuid gpu --regid gpu --clear-groups --reset-env env XDG_RUNTIME_DIR=/run/user/61001 "

// addUser makes the user and waits up to 30 s for the manager.
const addUser = `groupadd -g 61001 gpu && useradd -m -u 61001 -g gpu gpu && loginctl enable-linger gpu
for i in $(seq 300); do [ -S /run/user/61001/bus ] && exit 0; sleep 0.1; done; echo no user manager; exit 1`

// The commands of a user whose container has lost its GPUs.
const (
	reapplyCheck = "/box/gpu-hook --config /box/gpu-hook.toml reapply --check binary >/box/out/binary.check"
	reapplyOne   = "/box/gpu-hook --config /box/gpu-hook.toml reapply binary >/box/out/binary.again"
)

func repeated(a string, n int, b string, m int) []string {
	var list []string
	for range n {
		list = append(list, a)
	}
	for range m {
		list = append(list, b)
	}
	return list
}

// drive runs in the box: each scenario after the other.
func drive() error {
	if err := writableCgroups(); err != nil {
		return err
	}
	if os.Getenv("BPFFS") != "" {
		if err := sh("mount -o remount,rw /sys; mkdir -p /sys/fs/bpf && mount -t bpf bpf /sys/fs/bpf"); err != nil {
			return err
		}
	}
	for _, sc := range scenarios {
		only := os.Getenv("ONLY")
		if only == "" && sc.few || only != "" && !strings.Contains(","+only+",", ","+sc.name+",") {
			continue
		}
		if sc.runtime == "" {
			sc.runtime = os.Getenv("RUNTIME")
		}
		if err := sc.run(); err != nil {
			return fmt.Errorf("scenario %s: %w", sc.name, err)
		}
	}
	return nil
}

func sh(command string) error {
	start := time.Now()
	defer func() { fmt.Println(time.Since(start).Milliseconds(), command) }()
	if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, out)
	}
	return nil
}

// writableCgroups gives systemd its v1 controllers to write to: nspawn mounts
// them read-only. On v2 there is nothing to do.
func writableCgroups() error {
	if _, err := os.Stat("/sys/fs/cgroup/devices"); err != nil {
		return nil
	}
	return sh(`for d in /sys/fs/cgroup /sys/fs/cgroup/*; do mountpoint -q $d && mount -o remount,bind,rw $d; done; systemctl daemon-reexec`)
}

// waitFor waits up to 60 s for a file.
func waitFor(file string) error {
	for range 6000 {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("no %s after 60 s", file)
}

func (sc scenario) run() (err error) {
	out := "/box/out/" + sc.name
	bundle, err := sc.bundle()
	if err != nil {
		return err
	}
	log, err := os.Create(out + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	prefix := ""
	if sc.user() {
		prefix = asUser
		if err := sh(addUser); err != nil {
			return err
		}
		if err := sh("chown -R gpu:gpu " + bundle); err != nil {
			return err
		}
	}
	start := exec.Command("sh", "-c", prefix+sc.runtime+" --systemd-cgroup run -d -b "+bundle+" "+sc.name)
	start.Stdout, start.Stderr = log, log
	if err := start.Run(); err != nil {
		text, _ := os.ReadFile(out + ".log")
		return fmt.Errorf("%v: %w: %s", start.Args, err, text)
	}
	defer func() { _ = sh(prefix + sc.runtime + " delete -f " + sc.name) }()
	if err := waitFor(out + ".ready"); err != nil {
		return err
	}
	var again hookRecord
	for _, step := range sc.steps {
		if err := sc.witnessed(); err != nil {
			return err
		}
		if step == "again" {
			again = apply(sc.pid(), requestOf(bundle))
		} else if err := sh(strings.ReplaceAll(step, "SCOPE", sc.scope())); err != nil {
			return err
		}
	}
	if err := sc.witnessed(); err != nil {
		return err
	}
	programs, properties := sc.programs(), sc.properties()
	if err := os.WriteFile(out+".stop", nil, 0o644); err != nil {
		return err
	}
	if err := waitFor(out + ".json"); err != nil {
		return err
	}
	var rec record
	if err := load(out+".json", &rec); err != nil {
		return err
	}
	if err := load(out+".hook", &rec.Hook); err != nil && !strings.Contains(sc.how, "binary") {
		return err
	}
	rec.Again, rec.Programs, rec.Properties = again, programs, properties
	return save(out+".record", rec)
}

// enough is how often the witness must have tried each device between two
// commands: time alone says nothing on a busy machine.
const enough = 2048

// witnessed waits up to 60 s until the witness has tried often enough.
func (sc scenario) witnessed() error {
	first := -1
	for range 6000 {
		text, _ := os.ReadFile("/box/out/" + sc.name + ".rounds")
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			if first < 0 {
				first = n
			}
			if n >= first+enough {
				return nil
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("the witness does not get on: %d at first", first)
}

// user says whether an ordinary user starts the container.
func (sc scenario) user() bool { return strings.HasSuffix(sc.how, " user") }

func (sc scenario) scope() string { return "runc-" + sc.name + ".scope" }

func (sc scenario) pid() int {
	b, err := exec.Command(sc.runtime, "state", sc.name).Output()
	var state specs.State
	if err != nil || json.Unmarshal(b, &state) != nil {
		return 0
	}
	return state.Pid
}

// programs counts the names of the programs on the scope and, under crun, on
// the container's cgroup below it.
func (sc scenario) programs() map[string]int {
	names := map[string]int{}
	scope := filepath.Join("/sys/fs/cgroup/system.slice", sc.scope())
	for _, name := range []string{scope, scope + "/container"} {
		countPrograms(name, names)
	}
	return names
}

func countPrograms(cgroup string, names map[string]int) {
	dir, err := os.Open(cgroup)
	if err != nil {
		return
	}
	defer dir.Close()
	attached, err := bpf.Query(dir)
	if err != nil {
		return
	}
	for _, id := range attached.IDs {
		if p, err := bpf.Open(id); err == nil {
			names[p.Name]++
			_ = p.Close()
		}
	}
}

func (sc scenario) properties() map[string]string {
	b, _ := exec.Command("systemctl", "show", "-p", "DevicePolicy,DeviceAllow,BPFProgram", sc.scope()).Output()
	all := map[string]string{}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		all[key] += value + "\n"
	}
	return all
}
