package wrapper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkPrepare is the wrapper's own work for a container with a GPU and a
// config.json of 50 kB, without the start of the process.
func BenchmarkPrepare(b *testing.B) {
	root := host(b, 0)
	text := strings.Replace(asking, `"future": 1`, `"future": 1, "syscalls": [`+strings.Repeat(`{"names":["call"],"action":"SCMP_ACT_ALLOW"},`, 1000)+`{}]`, 1)
	dir := bundle(b, text)
	r, c := runner(root)
	for b.Loop() {
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
		done, err := r.prepare(tContext(), Call{Bundle: dir}, c, nil)
		if err != nil || !done.done {
			b.Fatal(done, err)
		}
	}
}
