package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   string
		want State
	}{
		{
			"runc", `{"ociVersion":"1.0.2-dev","id":"c1","status":"creating","pid":5,"bundle":"/b"}`,
			State{State: specs.State{Version: "1.0.2-dev", ID: "c1", Status: "creating", Pid: 5, Bundle: "/b"}},
		},
		{
			"crun", `{"ociVersion":"1.0","id":"c1","pid":5,"root":"rootfs","bundle":"/b","status":"created","annotations":{"a":"b"}}`,
			State{State: specs.State{Version: "1.0", ID: "c1", Status: "created", Pid: 5, Bundle: "/b", Annotations: map[string]string{"a": "b"}}, Root: "rootfs"},
		},
		{"bundlePath", `{"id":"c1","bundlePath":"/old"}`, State{State: specs.State{ID: "c1", Bundle: "/old"}}},
		{"bundle-before-bundlePath", `{"bundlePath":"/old","bundle":"/new"}`, State{State: specs.State{Bundle: "/new"}}},
		{"unknown-keys", `{"bundle":"/b","x":{"y":[1]},"owner":""}`, State{State: specs.State{Bundle: "/b"}}},
		{"no-version", `{"bundle":"/b"}`, State{State: specs.State{Bundle: "/b"}}},
		{"odd-version", `{"bundle":"/b","ociVersion":"tomorrow"}`, State{State: specs.State{Bundle: "/b", Version: "tomorrow"}}},
		{"white-space", "\n {\"bundle\" : \"/b\"}\n\n", State{State: specs.State{Bundle: "/b"}}},
		{"null-annotations", `{"bundle":"/b","annotations":null}`, State{State: specs.State{Bundle: "/b"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse([]byte(tt.in))
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Parse (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   string
		want string // part of the error
	}{
		{"empty", "", "standard input is empty"},
		{"spaces", "  \n", "unexpected end"},
		{"truncated", `{"ociVersion":"1.0","id":"c1","pid":5,"bund`, "parse state of 43 bytes: unexpected end"},
		{"not-json", "ELF\x00\x01", "invalid character 'E'"},
		{"two-values", `{"bundle":"/b"}{"bundle":"/c"}`, "after top-level value"},
		{"array", `[]`, "cannot unmarshal array"},
		{"null", `null`, "names no bundle"},
		{"no-bundle", `{"id":"c1"}`, "names no bundle"},
		{"pid-text", `{"pid":"5","bundle":"/b"}`, "cannot unmarshal string"},
		{"pid-huge", `{"pid":99999999999999999999,"bundle":"/b"}`, "cannot unmarshal number"},
		{"deep", strings.Repeat("[", 20000), "exceeded max depth"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Parse = %+v, %v; want an error with %q", got, err, tt.want)
			}
			if diff := cmp.Diff(State{}, got); diff != "" {
				t.Errorf("Parse gave a value beside its error:\n%s", diff)
			}
		})
	}
}

func TestParseMakesBundleAbsolute(t *testing.T) {
	t.Parallel()
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse([]byte(`{"bundle":"b"}`))
	if err != nil || got.Bundle != filepath.Join(cwd, "b") {
		t.Errorf("Parse = %q, %v; want %q", got.Bundle, err, filepath.Join(cwd, "b"))
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status specs.ContainerState
		pid    int
		stage  Stage
		want   string // part of the error and its cure; "" for none
	}{
		{"runc-prestart", "creating", 4242, Prestart, ""},
		{"crun-createRuntime", "created", 4242, CreateRuntime, ""},
		{"no-status", "", 4242, Prestart, ""},
		{"no-pid", "created", 0, Prestart, `pid 0 or missing`},
		{"pid-1", "creating", 1, CreateRuntime, `"gpu-hook createContainer"`},
		{"pid-negative", "creating", -7, CreateRuntime, `process -7`},
		{"runc-createContainer", "creating", 1, CreateContainer, ""},
		{"crun-createContainer", "created", 0, CreateContainer, ""},
		{"running", "running", 4242, Prestart, `too late for prestart; register the hook for the stage "createRuntime"`},
		{"stopped", "stopped", 0, CreateContainer, "container is stopped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := State{State: specs.State{Status: tt.status, Pid: tt.pid}}.Check(tt.stage)
			if tt.want == "" {
				if err != nil {
					t.Errorf("Check(%s) = %v, want nil", tt.stage, err)
				}
				return
			}
			var stage *StageError
			if !errors.As(err, &stage) {
				t.Fatalf("Check(%s) = %v, want a *StageError", tt.stage, err)
			}
			if text := stage.Error() + "; " + stage.Cure(); !strings.Contains(text, tt.want) {
				t.Errorf("Check(%s) = %q, want %q in it", tt.stage, text, tt.want)
			}
		})
	}
}

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// stalled never answers.
type stalled struct{}

func (stalled) Read([]byte) (int, error) { select {} }

func TestReadLimits(t *testing.T) {
	t.Parallel()
	small := limits{bytes: 1000, wait: 50 * time.Millisecond}
	fits := `{"bundle":"/b","x":"` + strings.Repeat("y", 978) + `"}`
	tests := []struct {
		name string
		in   io.Reader
		want string
	}{
		{"largest", strings.NewReader(fits), ""},
		{"one-more", strings.NewReader(fits + " "), "longer than 1000 bytes"},
		{"endless", endless{}, "longer than 1000 bytes"},
		{"stalled", stalled{}, "did not end within 50ms"},
		{"byte-by-byte", iotest.OneByteReader(strings.NewReader(fits)), ""},
		{"broken", io.MultiReader(strings.NewReader("{"), iotest.ErrReader(errors.New("input/output error"))), "read standard input: input/output error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := small.state(tt.in)
			if got := fmt.Sprint(err); tt.want == "" && err != nil || !strings.Contains(got, tt.want) {
				t.Errorf("read = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	large := []byte(`{"bundle":"/b","annotations":{"a":"` + strings.Repeat("x", 200_000) + `"}}`)
	pipe := func(write func(w *os.File)) func(t *testing.T) *os.File {
		return func(t *testing.T) *os.File {
			t.Helper()
			var fds [2]int // blocking, as a hook's standard input is; those of os.Pipe are not
			if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			r, w := os.NewFile(uintptr(fds[0]), "stdin"), os.NewFile(uintptr(fds[1]), "writer")
			t.Cleanup(func() { r.Close(); w.Close() })
			go write(w)
			return r
		}
	}
	tests := []struct {
		name string
		open func(t *testing.T) *os.File
		want string
	}{
		{"pipe", pipe(func(w *os.File) { w.Write(large); w.Close() }), ""},
		{"slow-pipe", pipe(func(w *os.File) {
			for part := range bytes.SplitAfterSeq(large, []byte(`":`)) {
				time.Sleep(10 * time.Millisecond)
				w.Write(part)
			}
			w.Close()
		}), ""},
		{"stalled-pipe", pipe(func(w *os.File) { w.Write(large[:10]) }), "did not end within 1s (10 bytes came)"},
		{"endless-pipe", pipe(func(w *os.File) {
			for err := error(nil); err == nil; {
				_, err = w.Write(large)
			}
		}), "longer than 1000000 bytes"},
		{"empty-pipe", pipe(func(w *os.File) { w.Close() }), "standard input is empty"},
		{"file", func(t *testing.T) *os.File {
			t.Helper()
			name := filepath.Join(t.TempDir(), "state")
			if err := os.WriteFile(name, large, 0o600); err != nil {
				t.Fatal(err)
			}
			return open(t, name)
		}, ""},
		{"null-device", func(t *testing.T) *os.File { t.Helper(); return open(t, os.DevNull) }, "standard input is empty"},
		{"zero-device", func(t *testing.T) *os.File { t.Helper(); return open(t, "/dev/zero") }, "longer than 1000000 bytes"},
		{"directory", func(t *testing.T) *os.File { t.Helper(); return open(t, t.TempDir()) }, "is a directory"},
		{"closed", func(t *testing.T) *os.File {
			t.Helper()
			f := open(t, os.DevNull)
			f.Close()
			return f
		}, "use of closed file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := limits{bytes: 1_000_000, wait: time.Second}.state(tt.open(t))
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("read = %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil || len(got.Annotations["a"]) != 200_000 {
				t.Errorf("read = %d bytes of annotation, %v; want 200000", len(got.Annotations["a"]), err)
			}
		})
	}
}

func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A pipe that is closed before it was read makes crun's write fail (SIGPIPE or
// EPIPE): nothing may be left in it, whatever is wrong with the state.
func TestReadTakesAll(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"not json" + strings.Repeat(" ", 300_000), `{"bundle":"/b"}` + strings.Repeat(" ", 300_000)} {
		for name, read := range map[string]func(io.Reader){
			"read":  func(r io.Reader) { _, _ = Read(r) },
			"drain": Drain,
		} {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				_, err := w.WriteString(text)
				done <- errors.Join(err, w.Close())
			}()
			read(r)
			r.Close()
			if err := <-done; err != nil {
				t.Errorf("%s: the writer got %v", name, err)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"ociVersion":"1.0.2-dev","id":"c1","status":"creating","pid":5,"bundle":"/b"}`))
	f.Add([]byte(`{"bundlePath":"b","root":"rootfs","annotations":{"a":"b"}}`))
	f.Add([]byte(`{"pid":1e3,"bundle":"\u0000"}`))
	f.Add([]byte(``))
	f.Add([]byte(`[[[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		switch {
		case err != nil && (s.Bundle != "" || s.Pid != 0):
			t.Errorf("Parse = %+v beside %v", s, err)
		case err == nil && !filepath.IsAbs(s.Bundle):
			t.Errorf("Parse: bundle %q is not absolute", s.Bundle)
		}
		for _, stage := range []Stage{Prestart, CreateRuntime, CreateContainer} {
			_ = s.Check(stage)
		}
	})
}
