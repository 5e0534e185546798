package main

import (
	"bytes"
	_ "embed" // The script of the view's first process is a file of its own.
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

//go:embed testdata/view.sh
var viewScript string

const (
	startLimit = 30 * time.Second // from the daemon's start to its first answer
	stopLimit  = 30 * time.Second
)

// daemon is a Docker daemon in a private view of the machine: mounts, processes
// and network of its own. Its socket and data are below dir.
type daemon struct {
	dir, client string
}

// programs finds the daemon and the client, and the daemon's version.
func programs(t lab.T) (client, found string) {
	// Where daemons are is not on every user's PATH.
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin"); err != nil {
		t.Fatalf("%v", err)
	}
	for _, name := range []string{"dockerd", "docker"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%s is not installed: install the package docker.io, or docker-ce from Docker's own repository", name)
		}
	}
	out, err := exec.Command("dockerd", "--version").Output()
	if err != nil {
		t.Fatalf("ask dockerd for its version: %v", err)
	}
	client, err = exec.LookPath("docker")
	if err != nil {
		t.Fatalf("%v", err)
	}
	return client, version(string(out))
}

// version takes the number out of "Docker version 20.10.24+dfsg1, build 5d6db84".
func version(text string) string {
	words := strings.Fields(text)
	if len(words) < 3 {
		return ""
	}
	number, _, _ := strings.Cut(strings.TrimSuffix(words[2], ","), "+")
	return number
}

// major is the first number of a version, 0 where there is none.
func major(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return n
}

// startDaemon starts the view. In dir are config.toml, gpu-hook's, and peer, a
// CDI specification; peer = "" is none.
func startDaemon(t lab.T, dir, client, peer string) *daemon {
	d := &daemon{dir: dir, client: client}
	name := "gpu-hook-" + filepath.Base(dir)
	config := map[string]any{
		"hosts": []string{"unix://" + d.socket()}, "bridge": "none", "iptables": false, "ip6tables": false,
		"data-root": filepath.Join(dir, "docker"), "exec-root": "/run/docker", "pidfile": "/run/docker.pid",
		"cgroup-parent": "/" + name, "exec-opts": []string{"native.cgroupdriver=cgroupfs"},
	}
	if peer != "" {
		config["features"] = map[string]bool{"cdi": true}
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatalf("%v", err)
	}
	lab.Write(t, filepath.Join(dir, "daemon.json"), string(text))
	for _, name := range []string{"etc", "work", "client"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatalf("%v", err)
		}
	}
	cmd := exec.Command("sh", "-ec", viewScript)
	cmd.Env = append(os.Environ(), "DIR="+dir, "NAME="+name, "PEER_CDI="+peer, "DOCKER_HOST=")
	// The end of this program, however it comes, ends the view's standard input.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Setpgid:    true,
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start a private view of the machine: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = stdin.Close()
		select {
		case <-ended:
		case <-time.After(stopLimit):
			t.Logf("dockerd did not stop in %v: it is killed", stopLimit)
			_ = cmd.Process.Kill() // The kernel kills all others of the pid namespace.
			<-ended
		}
	})
	for begin := time.Now(); time.Since(begin) < startLimit; time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("dockerd's view ended: %v\n%s%s", err, stderr.String(), d.log())
		default:
		}
		if _, err := d.docker("version"); err == nil {
			return d
		}
	}
	t.Fatalf("dockerd gives no answer in %v\n%s%s", startLimit, stderr.String(), d.log())
	return nil
}

func (d *daemon) socket() string { return filepath.Join(d.dir, "docker.sock") }

// log is the end of what the daemon wrote.
func (d *daemon) log() string {
	text := lab.Content(filepath.Join(d.dir, "dockerd.log"))
	return text[max(0, len(text)-1500):]
}

// command is a call of the client, which runs outside the view.
func (d *daemon) command(args ...string) *exec.Cmd {
	cmd := exec.Command(d.client, args...)
	cmd.Env = append(os.Environ(), "DOCKER_HOST=unix://"+d.socket(), "DOCKER_CONFIG="+filepath.Join(d.dir, "client"), "DOCKER_CONTEXT=")
	return cmd
}

// docker runs the client and returns what it wrote.
func (d *daemon) docker(args ...string) (string, error) {
	out, err := d.command(args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("docker %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}
