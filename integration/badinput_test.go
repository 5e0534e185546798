package integration

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// start runs the hook with a text on stdin, as any user and without a container.
func start(t *testing.T, b *lab.Bundle, stdin io.Reader, stage ...string) lab.Result {
	t.Helper()
	cmd := exec.Command(b.Hook[0], append(b.Hook[1:len(b.Hook):len(b.Hook)], stage...)...)
	cmd.Dir = b.Dir
	cmd.Stdin = stdin
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begin := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, io.ErrClosedPipe) {
		t.Logf("run the hook: %v", err) // A hook that stopped reading: exec reports the broken pipe.
	}
	return lab.Result{
		Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String(), Took: time.Since(begin),
	}
}

// plainBundle is a bundle for runs that end before anything is touched.
func plainBundle(t *testing.T, o lab.Options) *lab.Bundle {
	t.Helper()
	root := filepath.Join(lab.Temp(t), "rootfs")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if o.Config == "" {
		o.Config = lab.NoCgroups
	}
	return lab.NewBundle(t, root, o)
}

func TestBadState(t *testing.T) {
	t.Parallel()
	b := plainBundle(t, lab.Options{Env: askTwo()})
	good := b.State("1234567")
	missing := strings.Replace(good, b.Dir, b.Dir+"/nowhere", 1)
	tests := []struct {
		name, state string
		says        string // a part of the line
	}{
		{name: "empty", state: ""},
		{name: "space", state: " \n"},
		{name: "truncated", state: good[:len(good)/2]},
		{name: "not JSON", state: "this is no state\n"},
		{name: "another kind of JSON", state: "[1,2,3]"},
		{name: "null", state: "null"},
		{name: "number for the bundle", state: strings.Replace(good, `"bundle":"`+b.Dir+`"`, `"bundle":7`, 1)},
		{name: "control characters", state: "{\"id\":\"\x1b[31m\x00\"}"},
		{name: "huge", state: `{"annotations":{"a":"` + strings.Repeat("x", 17<<20) + `"}}`},
		{name: "deep", state: strings.Repeat("[", 1<<20)},
		{name: "missing bundle", state: missing, says: "nowhere"},
		{name: "pid 0", state: b.State("0"), says: "createContainer"},
		{name: "pid 1", state: b.State("1"), says: "createContainer"},
		{name: "no pid", state: strings.Replace(good, `"pid":1234567,`, "", 1), says: "createContainer"},
		{name: "negative pid", state: b.State("-5")},
	}
	for _, tt := range tests {
		for _, stage := range []string{"prestart", "createRuntime"} {
			t.Run(tt.name+" at "+stage, func(t *testing.T) {
				t.Parallel()
				got := start(t, b, strings.NewReader(tt.state), stage)
				wantOneLine(t, got, 10)
				if !strings.Contains(got.Stderr, tt.says) {
					t.Errorf("stderr %q does not say %q", got.Stderr, tt.says)
				}
			})
		}
	}
}

// TestEndlessState keeps stdin open: the hook gives up after ten seconds.
func TestEndlessState(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	b := plainBundle(t, lab.Options{Env: askTwo()})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	if _, err := w.WriteString(`{"ociVersion":`); err != nil {
		t.Fatal(err)
	}
	got := start(t, b, r, "prestart")
	wantOneLine(t, got, 10)
	if got.Took < 9*time.Second || got.Took > 15*time.Second {
		t.Errorf("the hook gave up after %v, want about 10 s", got.Took)
	}
}

// TestStateIsDrained writes a state of 200 kB to hooks that do not need it: a
// hook that ends early breaks the runtime's pipe (crun then fails).
func TestStateIsDrained(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 200<<10)
	for _, tt := range []struct {
		name   string
		env    []string
		config string
		want   int
	}{
		{name: "no GPU asked for", want: 0},
		{name: "broken configuration", env: askTwo(), config: "nonsense = [", want: 19},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := plainBundle(t, lab.Options{Env: tt.env, Config: tt.config})
			state := strings.TrimSuffix(b.State("1234567"), "}") + `,"annotations":{"big":"` + big + `"}}`
			r, w := io.Pipe()
			wrote := make(chan error, 1)
			go func() {
				_, err := io.Copy(w, strings.NewReader(state))
				_ = w.Close()
				wrote <- err
			}()
			got := start(t, b, r, "prestart")
			if got.Code != tt.want {
				t.Errorf("exit code %d, want %d; stderr: %s", got.Code, tt.want, got.Stderr)
			}
			_ = r.Close()
			if err := <-wrote; err != nil {
				t.Errorf("the state was not read to its end: %v", err)
			}
		})
	}
}

func TestBadBundle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, b *lab.Bundle)
		codes []int
	}{
		{name: "no config.json", codes: []int{10}, spoil: func(t *testing.T, b *lab.Bundle) { remove(t, b.Dir+"/config.json") }},
		{name: "empty config.json", codes: []int{10}, spoil: func(t *testing.T, b *lab.Bundle) { lab.Write(t, b.Dir+"/config.json", "") }},
		{name: "truncated config.json", codes: []int{10}, spoil: func(t *testing.T, b *lab.Bundle) {
			text, err := os.ReadFile(b.Dir + "/config.json")
			if err != nil {
				t.Fatal(err)
			}
			lab.Write(t, b.Dir+"/config.json", string(text[:len(text)/2]))
		}},
		{name: "config.json is a directory", codes: []int{10}, spoil: func(t *testing.T, b *lab.Bundle) {
			remove(t, b.Dir+"/config.json")
			if err := os.Mkdir(b.Dir+"/config.json", 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "config.json of another kind", codes: []int{10}, spoil: func(t *testing.T, b *lab.Bundle) { lab.Write(t, b.Dir+"/config.json", `{"process":7}`) }},
		{name: "unknown key in the configuration", codes: []int{19}, spoil: func(t *testing.T, b *lab.Bundle) { lab.Write(t, b.Dir+"/config.toml", "host-rot = \"/\"\n") }},
		{name: "unknown word in the configuration", codes: []int{19}, spoil: func(t *testing.T, b *lab.Bundle) {
			lab.Write(t, b.Dir+"/config.toml", "[cgroups]\nmode = \"maybe\"\n")
		}},
		{name: "no configuration where one was named", codes: []int{19}, spoil: func(t *testing.T, b *lab.Bundle) { remove(t, b.Dir+"/config.toml") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := plainBundle(t, lab.Options{Env: askTwo()})
			tt.spoil(t, b)
			wantOneLine(t, start(t, b, strings.NewReader(b.State("1234567")), "prestart"), tt.codes...)
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// TestBadProc feeds nonsense through the files of the kernel module. Nothing
// of the container may have been touched when the hook refuses.
func TestBadProc(t *testing.T) {
	t.Parallel()
	need.Root(t)
	root := lab.Root(t, lab.Glibc)
	gpu := "/proc/driver/nvidia/gpus/0000:10:00.0"
	for _, tt := range []struct {
		name  string
		env   []string
		spoil func(t *testing.T, host string)
		codes []int
	}{
		{name: "empty version", codes: []int{12}, spoil: put("/proc/driver/nvidia/version", "")},
		{name: "nonsense for a version", codes: []int{12}, spoil: put("/proc/driver/nvidia/version", "\x00\xff\xfe nonsense\n")},
		{name: "huge version", codes: []int{12}, spoil: put("/proc/driver/nvidia/version", strings.Repeat("x", 1<<22))},
		{name: "no devices file", codes: []int{0, 12, 15}, spoil: func(t *testing.T, host string) { remove(t, host+"/proc/devices") }},
		{name: "nonsense for devices", codes: []int{0, 12, 15}, spoil: put("/proc/devices", "Character devices:\n-5 nvidia\nabc\n999999999999 nvidia-uvm\n")},
		{name: "nonsense for params", codes: []int{0}, spoil: put("/proc/driver/nvidia/params", "DeviceFileMode: 99999999999999999999\n\x00\n")},
		{name: "asked-for GPU has no information", codes: []int{11}, spoil: func(t *testing.T, host string) { remove(t, host+gpu+"/information") }},
		{name: "asked-for GPU has nonsense", codes: []int{11}, spoil: put(gpu+"/information", "Device Minor: -1\nModel\n\x00")},
		{name: "asked-for GPU has a minor beyond all", codes: []int{11}, spoil: put(gpu+"/information", "Device Minor: 4294967296\n")},
		{name: "another GPU is broken", env: []string{"NVIDIA_VISIBLE_DEVICES=2"}, codes: []int{0}, spoil: func(t *testing.T, host string) { remove(t, host+gpu+"/information") }},
		{name: "information is a FIFO", codes: []int{11}, spoil: fifo(gpu + "/information")},
		{name: "odd directory beside the GPUs", codes: []int{0}, spoil: put("/proc/driver/nvidia/gpus/not-a-bus-id/information", "x")},
		{name: "no GPU at all", codes: []int{11, 12}, spoil: func(t *testing.T, host string) { remove(t, host+"/proc/driver/nvidia/gpus") }},
		{name: "no driver files", codes: []int{12, 13}, spoil: func(t *testing.T, host string) {
			remove(t, host+"/usr/lib/x86_64-linux-gnu")
			remove(t, host+"/etc/ld.so.cache")
		}},
		{name: "files of another version", codes: []int{13}, spoil: put("/proc/driver/nvidia/version",
			"NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue\n")},
		{name: "damaged loader cache", codes: []int{0}, spoil: put("/etc/ld.so.cache", "glibc-ld.so.cache1.1\xff\xff\xff\xff")},
		{name: "no loader cache", codes: []int{0}, spoil: func(t *testing.T, host string) { remove(t, host+"/etc/ld.so.cache") }},
		{name: "libcuda is a FIFO", codes: []int{12, 13}, spoil: fifo("/usr/lib/x86_64-linux-gnu/libcuda.so.535.261.03")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host := madeHost(t)
			tt.spoil(t, host.Dir)
			env := tt.env
			if env == nil {
				env = askTwo()
			}
			b := lab.NewBundle(t, root, lab.Options{Host: host, Env: env, Overlay: true, Config: lab.NoCgroups})
			got := lab.RunDirect(t, b, lab.Direct{Inside: thirdGPU + "grep -c $ROOT /proc/self/mountinfo"})
			wantRefusedOrDone(t, b, got, tt.codes)
		})
	}
}

// wantRefusedOrDone checks that a hook that refused has left no trace, and that
// one that went on has done its work.
func wantRefusedOrDone(t *testing.T, b *lab.Bundle, got lab.DirectResult, codes []int) {
	t.Helper()
	if got.Took > 20*time.Second {
		t.Errorf("the hook took %v", got.Took)
	}
	if got.Code == 0 {
		if len(codes) == 0 || codes[0] != 0 && !contains(codes, 0) {
			t.Errorf("exit code 0, want one of %v", codes)
		}
		if !strings.HasPrefix(got.Inside, gpu2) {
			t.Errorf("exit code 0 and no third GPU: %s", got.Inside)
		}
		return
	}
	wantOneLine(t, got.Result, codes...)
	if !strings.HasSuffix(got.Inside, "No such file or directory\n2\n") {
		t.Errorf("nodes or mounts of a hook that refused with %d:\n%s\n%s", got.Code, got.Inside, got.Stderr)
	}
	for name := range lab.Tree(t, b.Upper) {
		if strings.Contains(name, "nvidia") || strings.Contains(name, "libcuda") || strings.Contains(name, "gpu-hook") {
			t.Errorf("a hook that refused with %d left %s", got.Code, name)
		}
	}
}

func contains(codes []int, code int) bool {
	for _, c := range codes {
		if c == code {
			return true
		}
	}
	return false
}

// put replaces a file of the stand-in host; hard links into the cache are cut.
func put(name, text string) func(t *testing.T, host string) {
	return func(t *testing.T, host string) {
		t.Helper()
		remove(t, host+name)
		lab.Write(t, host+name, text)
	}
}

// fifo replaces a file of the stand-in host by a FIFO: who opens it carelessly
// waits for ever.
func fifo(name string) func(t *testing.T, host string) {
	return func(t *testing.T, host string) {
		t.Helper()
		remove(t, host+name)
		mkfifo(t, host+name)
	}
}
