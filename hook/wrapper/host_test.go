package wrapper

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/hook/config"
)

func tContext() context.Context { return context.Background() }

func deathSignal() int {
	var signal int32
	if _, _, errno := unix.Syscall6(unix.SYS_PRCTL, unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&signal)), 0, 0, 0, 0); errno != 0 {
		return -1
	}
	return int(signal)
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// uuid of the n-th GPU of a stand-in host.
func uuid(n int) string { return fmt.Sprintf("GPU-5d0f1e0a-0000-4c3b-9d2e-7f6a8b9c0d%02x", n) }

// host makes a directory that stands in for a host with two GPUs, whose nodes
// belong to a group where gid is not 0.
func host(t testing.TB, gid int) string {
	t.Helper()
	dir := t.TempDir()
	mode := 0o666
	if gid != 0 {
		mode = 0o660
	}
	driver := filepath.Join(dir, "proc/driver/nvidia")
	write(t, driver+"/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Jan 14 17:08:33 UTC 2025\n")
	write(t, driver+"/params", fmt.Sprintf("ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: %d\nDeviceFileMode: %d\n", gid, mode))
	for i := range 2 {
		bus := fmt.Sprintf("0000:%02x:00.0", i+1)
		write(t, driver+"/gpus/"+bus+"/information", fmt.Sprintf("Model: \t\t NVIDIA A100-SXM4-80GB\nGPU UUID: \t %s\nBus Location: \t %s\nDevice Minor: \t %d\nGPU Excluded:\t No\n", uuid(i), bus, i))
		write(t, filepath.Join(dir, "sys/bus/pci/devices", bus, "vendor"), "0x10de\n")
		write(t, filepath.Join(dir, "sys/bus/pci/devices", bus, "device"), "0x20b0\n")
		write(t, filepath.Join(dir, "sys/bus/pci/devices", bus, "class"), "0x030200\n")
	}
	write(t, filepath.Join(dir, "proc/devices"), "Character devices:\n195 nvidia\n510 nvidia-uvm\n\nBlock devices:\n")
	if err := os.Mkdir(filepath.Join(dir, "dev"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// bundle writes a config.json and returns its directory.
func bundle(t testing.TB, config string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.json"), config)
	if err := os.Mkdir(filepath.Join(dir, "rootfs"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// quiet is a configuration without log and modules.
func quiet() config.Config {
	c := config.Default()
	c.Log.File, c.LoadKernelModules = "", false
	return c
}

// runner stands for a wrapper on a stand-in host.
func runner(hostRoot string) (Runner, config.Config) {
	c := quiet()
	c.HostRoot = hostRoot
	return Runner{Hook: hook.Options{HostRoot: hostRoot}, Self: "/usr/bin/gpu-hook"}, c
}

// prepare edits a bundle and returns the new text.
func prepare(t testing.TB, dir, hostRoot string) (string, error) {
	t.Helper()
	r, c := runner(hostRoot)
	_, err := r.prepare(tContext(), Call{Starts: true, Bundle: dir}, c, nil)
	return read(t, filepath.Join(dir, "config.json")), err
}

// decode keeps numbers as they are written.
func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// entries lists a directory, for what was left behind.
func entries(t testing.TB, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func modeOf(t testing.TB, name string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}
