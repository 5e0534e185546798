package wrapper

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/hook/fault"
)

// report writes the line of a failure into the log file that the engine named
// for the runtime, in the runtime's own form: containerd and podman show a
// user the last error they find there. crun also takes "file:PATH" and words
// for journald and syslog; those have nobody who reads them for an engine.
func (c Call) report(err error, now time.Time) {
	name := strings.TrimPrefix(c.Log, "file:")
	if name == "" || strings.HasPrefix(name, "journald:") || strings.HasPrefix(name, "syslog:") {
		return
	}
	f, openErr := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NONBLOCK|unix.O_NOCTTY, 0o644)
	if openErr != nil {
		return // the line is on standard error, too
	}
	defer f.Close()
	_, _ = f.Write(c.logLine(fault.Line(err), now))
}

// logLine is a line as runc and crun write theirs.
func (c Call) logLine(text string, now time.Time) []byte {
	stamp := now.UTC().Format(time.RFC3339)
	if c.LogFormat != "json" {
		return fmt.Appendf(nil, "time=%q level=error msg=%q\n", stamp, text)
	}
	line, err := json.Marshal(struct {
		Level string `json:"level"`
		Msg   string `json:"msg"`
		Time  string `json:"time"`
	}{"error", text, stamp})
	if err != nil {
		return nil
	}
	return append(line, '\n')
}
