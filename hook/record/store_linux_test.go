package record

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func start(t *testing.T, pid int) uint64 {
	t.Helper()
	ticks, err := StartTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	return ticks
}

func mine(t *testing.T, id string) Record {
	t.Helper()
	start, err := StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return Record{
		Version: Version, ID: id, PID: os.Getpid(), Start: start, Driver: "550.1", GPUs: []string{"GPU-1"}, Access: "rw",
		Nodes: []Node{{Path: "/dev/nvidia0", Major: 195, Mode: "0666", Method: "mknod"}},
	}
}

func TestPutAndList(t *testing.T) {
	t.Parallel()
	s := Store{Dir: filepath.Join(t.TempDir(), "run")}
	if got, err := s.List(); err != nil || got != nil {
		t.Fatalf("List without a directory = %v, %v", got, err)
	}
	want := []Record{mine(t, "a"), mine(t, "b")}
	for _, r := range []Record{want[1], want[0], want[0]} {
		if err := s.Put(r); err != nil {
			t.Fatalf("Put: %v", err)
		}
	}
	got, err := s.List()
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
	st, err := os.Stat(filepath.Join(s.Dir, containers))
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v; want mode 0700", st.Mode(), err)
	}
}

func TestDeadAreRemoved(t *testing.T) {
	t.Parallel()
	s := Store{Dir: filepath.Join(t.TempDir(), "run")}
	records := []Record{mine(t, "alive"), mine(t, "reused")}
	records[1].Start++
	for _, id := range []string{"dead", "zombie"} {
		child := exec.Command("sleep", "60")
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		r := mine(t, id)
		var err error
		if r.PID, r.Start, err = child.Process.Pid, start(t, child.Process.Pid), child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if id == "dead" {
			_ = child.Wait()
		} else {
			t.Cleanup(func() { _ = child.Wait() })
		}
		records = append(records, r)
	}
	for _, r := range records {
		if err := s.Put(r); err != nil {
			t.Fatalf("Put: %v", err)
		}
	}
	for range 1000 { // until the zombie is one
		if !records[3].Alive() {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	got, err := s.List()
	if err != nil || len(got) != 1 || got[0].ID != "alive" {
		t.Errorf("List = %v, %v; want the living one alone", got, err)
	}
	left, err := os.ReadDir(filepath.Join(s.Dir, containers))
	if err != nil || len(left) != 1 {
		t.Errorf("files left: %v, %v", left, err)
	}
}

func TestNamesStayInside(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"../../etc/passwd", "..", ".", "a/b", strings.Repeat("x", 4000), "new\nline", ""} {
		name := fileName(id, 1)
		if strings.ContainsAny(name, "/\n") || len(name) > 255 || name == ".." || strings.HasPrefix(name, "..") {
			t.Errorf("fileName(%q) = %q", id, name)
		}
	}
}

// TestLinkIsNotFollowed: a link planted where the directory should be leads
// nowhere.
func TestLinkIsNotFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	canary := filepath.Join(dir, "canary")
	if err := os.Mkdir(canary, 0o755); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run")
	if err := os.Symlink(canary, run); err != nil {
		t.Fatal(err)
	}
	if err := (Store{Dir: run}).Put(mine(t, "a")); err == nil {
		t.Error("Put followed a link")
	}
	if left, _ := os.ReadDir(canary); len(left) != 0 {
		t.Errorf("the canary has %v", left)
	}
}

func TestDamagedAreKept(t *testing.T) {
	t.Parallel()
	s := Store{Dir: filepath.Join(t.TempDir(), "run")}
	if err := s.Put(mine(t, "a")); err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(s.Dir, containers, "x.1.json")
	if err := os.WriteFile(odd, []byte(`{"version":99,"id":"x","pid":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(s.Dir, containers, "d.2.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := s.List()
	if err != nil || len(got) != 1 {
		t.Errorf("List = %v, %v", got, err)
	}
	if _, err := os.Stat(odd); err != nil {
		t.Errorf("a newer version's record was removed: %v", err)
	}
}

func TestParseStart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, stat string
		want       uint64
		wantErr    bool
	}{
		{"plain", "7 (sh) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 9 9", 12345, false},
		{"blanks and parentheses", "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 6 9 9", 6, false},
		{"zombie", "7 (sh) Z 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 9 9", 0, true},
		{"first thread ended", "7 (sh) Z 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 12345 9 9", 12345, false},
		{"no command", "7 sh S 1", 0, true},
		{"short", "7 (sh) S 1", 0, true},
		{"no number", "7 (sh) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 x 9 9", 0, true},
		{"empty", "", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseStart([]byte(tt.stat))
			if got != tt.want || (err != nil) != tt.wantErr {
				t.Errorf("parseStart(%q) = %d, %v; want %d", tt.stat, got, err, tt.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":1,"id":"a","pid":3}`), []byte("7 (sh) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 9 9"))
	f.Add([]byte(`{`), []byte(")"))
	f.Fuzz(func(t *testing.T, record, stat []byte) {
		if r, err := parse(record); err != nil && r.ID != "" {
			t.Errorf("parse(%q) gave %v beside an error", record, r)
		}
		_, _ = parseStart(stat)
	})
}
