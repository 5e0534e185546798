package lab

import (
	"crypto/sha256"
	_ "embed" // The timer is compiled from its source at test time.
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

//go:embed testdata/witness/timer.c
var timerSource string

// Timer returns a program that runs another and notes its time and memory.
func Timer(t T) string {
	t.Helper()
	need.CC(t)
	sum := sha256.Sum256([]byte(timerSource))
	dir := Once(t, "timer/"+hex.EncodeToString(sum[:6]), func(dir string) {
		source := filepath.Join(dir, "timer.c")
		Write(t, source, timerSource)
		command(t, "", nil, "cc", "-Os", "-s", "-static", "-o", filepath.Join(dir, "timer"), source)
	})
	return filepath.Join(dir, "timer")
}

// Timing is one run of a program under the timer.
type Timing struct {
	Took   time.Duration
	MaxRSS int64 // largest resident size in bytes
	Code   int
}

// Timings reads the file that the timer wrote.
func Timings(t T, file string) []Timing {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var out []Timing
	for line := range strings.Lines(string(text)) {
		var r Timing
		var ns int64
		if _, err := fmt.Sscan(line, &ns, &r.MaxRSS, &r.Code); err != nil {
			t.Fatalf("read the timer's %q: %v", line, err)
		}
		r.Took = time.Duration(ns)
		r.MaxRSS *= 1024
		out = append(out, r)
	}
	return out
}
