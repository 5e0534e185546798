package systemd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/devices/cgroup"
)

// rules are what each container asks for: 12 of them, as 8 GPUs give.
func rules() []cgroup.Rule {
	list := []cgroup.Rule{{Type: 'c', Major: 511, Minor: 0, Access: "rw"}, {Type: 'c', Major: 511, Minor: 1, Access: "rw"}}
	for _, minor := range []uint32{0, 8, 9, 10, 11, 12, 13, 14, 254, 255} {
		list = append(list, cgroup.Rule{Type: 'c', Major: 195, Minor: minor, Access: "rw"})
	}
	return list
}

// hook is the OCI hook. HOW is a list of words: nobus (systemd cannot be
// reached), reload (a daemon-reload comes first), twice, binary (gpu-hook itself).
func hook() error {
	how := os.Getenv("HOW")
	if strings.Contains(how, "binary") {
		if err := hideBus(); err != nil {
			return err
		}
		return unix.Exec("/box/gpu-hook", []string{"gpu-hook", "--config", "/box/gpu-hook.toml", "prestart"}, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"})
	}
	var state specs.State
	if err := json.NewDecoder(os.Stdin).Decode(&state); err != nil {
		return err
	}
	if strings.Contains(how, "reload") {
		if out, err := exec.Command("systemctl", "daemon-reload").CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	if strings.Contains(how, "nobus") {
		if err := hideBus(); err != nil {
			return err
		}
	}
	req := requestOf(state.Bundle)
	rec := apply(state.Pid, req)
	if strings.Contains(how, "twice") {
		if again := apply(state.Pid, req); !again.Result.Unchanged {
			rec.Err = fmt.Sprintf("second run: %+v", again)
		}
	}
	return save("/box/out/"+state.ID+".hook", rec)
}

// hiddenPrograms is for Missing where the kernel hides the programs.
const hiddenPrograms = -1

// apply grants the rules and looks what is missing.
func apply(pid int, req cgroup.Request) hookRecord {
	var rec hookRecord
	req.PID, req.Rules = pid, rules()
	start := time.Now()
	l, err := cgroup.Detect(pid)
	if err == nil {
		rec.Result, err = l.Allow(context.Background(), req)
	}
	rec.Micros = time.Since(start).Microseconds()
	if err == nil {
		var missing []cgroup.Rule
		missing, err = l.Missing(req)
		rec.Missing = len(missing)
		if errors.Is(err, cgroup.ErrHidden) {
			rec.Missing, err = hiddenPrograms, nil
		}
	}
	if err != nil {
		rec.Err = err.Error()
	}
	return rec
}

// hideBus takes both of systemd's sockets out of this process's sight. The
// thread keeps its mount namespace until the process ends.
func hideBus() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("none", "/run/dbus", "tmpfs", 0, ""); err != nil {
		return err
	}
	return unix.Mount("/dev/null", "/run/systemd/private", "", unix.MS_BIND, "")
}
