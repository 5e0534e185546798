package bpf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf/bpftest"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// verdict is the program "r0 = n; exit".
func verdict(n byte) []byte {
	return []byte{0xb7, 0, 0, 0, n, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0}
}

func load(t *testing.T, name string, text []byte) *bpf.Program {
	t.Helper()
	need.BPF(t)
	bpftest.Plain(t)
	p, err := bpf.Load(name, text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// cgroup makes a v2 cgroup that is removed afterwards.
func cgroup(t *testing.T) *os.File {
	t.Helper()
	need.Root(t)
	need.Cgroup2(t)
	for _, top := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var fs unix.Statfs_t
		if unix.Statfs(top, &fs) != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
			continue
		}
		dir, err := os.MkdirTemp(top, "gpu-hook-test-bpf")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	need.Lacks(t, "cgroup2", "cgroup v2 is not mounted at a usual place")
	return nil
}

// Another library must see what we load, and we what it loads.
func TestAgainstCilium(t *testing.T) {
	t.Parallel()
	p := load(t, "gpu_hook", verdict(1))
	theirs, err := ebpf.NewProgramFromID(ebpf.ProgramID(p.ID))
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	info, err := theirs.Info()
	if err != nil {
		t.Fatal(err)
	}
	insns, err := info.Instructions()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := insns.Marshal(&text, binary.LittleEndian); err != nil {
		t.Fatal(err)
	}
	if info.Name != "gpu_hook" || info.Type != ebpf.CGroupDevice || !bytes.Equal(text.Bytes(), verdict(1)) || !bytes.Equal(p.Text, verdict(1)) {
		t.Errorf("loaded: they see %q, %v, %x, we %x", info.Name, info.Type, text.Bytes(), p.Text)
	}

	spec := &ebpf.ProgramSpec{Name: "theirs", Type: ebpf.CGroupDevice, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}}
	second, err := ebpf.NewProgram(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	cg := cgroup(t)
	if err := link.RawAttachProgram(link.RawAttachProgramOptions{
		Target: int(cg.Fd()), Program: second, Attach: ebpf.AttachCGroupDevice, Flags: bpf.FlagMulti,
	}); err != nil {
		t.Fatal(err)
	}
	found, err := bpf.Query(cg)
	if err != nil || len(found.IDs) != 1 || found.Flags != bpf.FlagMulti {
		t.Fatalf("Query: got %+v, %v, want their program", found, err)
	}
	old, err := bpf.Open(found.IDs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if old.Name != "theirs" || !bytes.Equal(old.Text, verdict(1)) || old.Tag != p.Tag {
		t.Errorf("Open: got %q, %x, tags %x and %x", old.Name, old.Text, old.Tag, p.Tag)
	}
	if err := bpf.Replace(cg, p, old); err != nil {
		t.Fatal(err)
	}
	result, err := link.QueryPrograms(link.QueryOptions{Target: int(cg.Fd()), Attach: ebpf.AttachCGroupDevice})
	if err != nil || len(result.Programs) != 1 || uint32(result.Programs[0].ID) != p.ID {
		t.Errorf("they see %+v, %v after Replace, want %d", result, err, p.ID)
	}
	third := load(t, "third", verdict(1))
	if err := bpf.Replace(cg, third, old); !errors.Is(err, unix.ENOENT) {
		t.Errorf("Replace of a program that is not there: got %v, want ENOENT", err)
	}
	if err := bpf.Detach(cg, p); err != nil {
		t.Error(err)
	}
	if found, err = bpf.QueryEffective(cg); err != nil || len(found.IDs) != 0 {
		t.Errorf("QueryEffective after Detach: got %+v, %v, want none", found, err)
	}
}

// More programs than the first buffer takes: a cgroup has 64 at most, but
// those of all levels count.
func TestManyPrograms(t *testing.T) {
	t.Parallel()
	cg := cgroup(t)
	dir, err := os.MkdirTemp(cg.Name(), "child")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(dir)
	child, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	want := map[uint32]bool{}
	for range 60 {
		for _, at := range []*os.File{cg, child} {
			p := load(t, "many", verdict(1))
			if err := bpf.Attach(at, p, bpf.FlagMulti); err != nil {
				t.Fatal(err)
			}
			want[p.ID] = true
		}
	}
	found, err := bpf.QueryEffective(child)
	if err != nil {
		t.Fatal(err)
	}
	got := map[uint32]bool{}
	for _, id := range found.IDs {
		got[id] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("QueryEffective (-want +got):\n%s", diff)
	}
}

func TestLoadRefused(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.BPF(t)
	tests := []struct {
		name string
		text []byte
		want string
	}{
		{"verdict 2", verdict(2), "R0"},
		{"no verdict", verdict(1)[8:], "R0 !read_ok"},
		{"empty", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := bpf.Load("bad", tt.text)
			if err == nil || p != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Load: got %v, want the verifier's words %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("Load: got %q, want one line", err)
			}
		})
	}
}

func TestLongProgram(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat(verdict(1)[:8], 1500)
	text = append(text, verdict(1)...)
	p := load(t, "a_name_that_is_too_long", text)
	if !bytes.Equal(p.Text, text) || p.Name != "a_name_that_is_" {
		t.Errorf("got %d bytes back under %q, want %d", len(p.Text), p.Name, len(text))
	}
}

func TestOpenGone(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.BPF(t)
	p, err := bpf.Load("gone", verdict(1))
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Close()
	if _, err := bpf.Open(1 << 30); !errors.Is(err, unix.ENOENT) {
		t.Errorf("Open of an id that is not there: got %v, want ENOENT", err)
	}
	other, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.SocketFilter, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	info, err := other.Info()
	if err != nil {
		t.Fatal(err)
	}
	id, _ := info.ID()
	if _, err := bpf.Open(uint32(id)); !errors.Is(err, bpf.ErrNotDevice) {
		t.Errorf("Open of a socket filter: got %v, want ErrNotDevice", err)
	}
	if _, err := bpf.OpenPinned(filepath.Join(t.TempDir(), "none")); !errors.Is(err, unix.ENOENT) {
		t.Errorf("OpenPinned of nothing: got %v, want ENOENT", err)
	}
	if err := p.Repin("a\x00b"); err == nil {
		t.Error("Repin of a name with a zero byte: got no error")
	}
}
