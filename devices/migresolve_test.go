package devices

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResolveMIG(t *testing.T) {
	t.Parallel()
	h := stand(t, migTree()...)
	inv := inventory(t, h)
	for _, tc := range []struct {
		name  string
		names []string
		want  []MIGDevice
	}{
		{"position", []string{"0:2"}, []MIGDevice{{Position: 2, GI: 10}}},
		{"instances", []string{"MIG-" + uuidA + "/2/1"}, []MIGDevice{{Position: 1, GI: 2, CI: 1}}},
		{"uuid", []string{migC}, []MIGDevice{{Position: 2, GI: 10, UUID: migC}}},
		{"uuid-upper", []string{strings.ToUpper(migD)}, []MIGDevice{{Parent: 1, Minor: 1, UUID: migD}}},
		{"same-twice", []string{"0:0", migA, "MIG-" + uuidA + "/2/0"}, []MIGDevice{{GI: 2}}},
		{"order", []string{"1:0", "0:1", "0:0"}, []MIGDevice{{GI: 2}, {Position: 1, GI: 2, CI: 1}, {Parent: 1, Minor: 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			sel, err := inv.Select(tc.names, everything)
			if err != nil {
				t.Fatal(err)
			}
			asked := 0
			got, _, err := inv.ResolveMIG(t.Context(), h, sel.MIG, everything, MIGSource{SMI: smi(smiList, &asked)})
			if err != nil {
				t.Fatalf("ResolveMIG(%q) = %v", tc.names, err)
			}
			same(t, "ResolveMIG", got, tc.want)
			if byUUID := strings.Contains(strings.Join(tc.names, " "), "MIG-0"); (asked > 0) != byUUID {
				t.Errorf("nvidia-smi was asked %d times for %q", asked, tc.names)
			}
		})
	}
}

func TestResolveMIGErrors(t *testing.T) {
	t.Parallel()
	h := stand(t, migTree()...)
	inv := inventory(t, h)
	fails := func(context.Context, ...string) ([]byte, error) { return nil, os.ErrPermission }
	text := func(s string) SMI { n := 0; return smi(s, &n) }
	for _, tc := range []struct {
		name, device string
		smi          SMI
		allow        []string
		want         string
	}{
		{"position", "0:7", nil, everything, `find device "0:7": GPU 0 has no such MIG device, it has: 0:0 (gi 2, ci 0); 0:1 (gi 2, ci 1); 0:2 (gi 10, ci 0)`},
		{"no-mig", "2:0", nil, everything, "it has: none"},
		{"instances", "MIG-" + uuidA + "/2/7", nil, everything, "no such MIG device"},
		{"unknown-uuid", "MIG-ffffffff-89ab-cdef-0123-456789abcd00", text(smiList), everything, "nvidia-smi -L lists no such MIG device"},
		{"no-smi", migA, nil, everything, "no nvidia-smi on the host"},
		{"smi-fails", migA, fails, everything, "ask nvidia-smi for MIG UUIDs: permission denied"},
		{"smi-nonsense", migA, text("Failed to initialize NVML\n"), everything, "no GPU in the output"},
		{"counts-differ", migA, text(strings.Replace(smiList, "  MIG 1g", "  XXX 1g", 1)), everything, "disagree: 2 and 3 MIG devices on GPU 0"},
		{"not-allowed", migD, text(smiList), []string{"0"}, "leaves out GPU 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			sel, err := inv.Select([]string{tc.device}, everything)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := inv.ResolveMIG(t.Context(), h, sel.MIG, tc.allow, MIGSource{SMI: tc.smi})
			if err == nil || got != nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("ResolveMIG(%s) = %v, %v, want an error with %q", tc.device, got, err, tc.want)
			}
			var cure interface{ Cure() string }
			if !errors.As(err, &cure) || cure.Cure() == "" {
				t.Errorf("ResolveMIG(%s) = %v, which has no cure", tc.device, err)
			}
		})
	}
}

// TestResolveMIGByReport has nvidia-smi count devices in another order than the
// tree: its report decides.
func TestResolveMIGByReport(t *testing.T) {
	t.Parallel()
	h := stand(t, migTree()...)
	inv := inventory(t, h)
	for _, tc := range []struct {
		name, report string
		want         []MIGDevice
	}{
		{"other-order", report(uuidA, "00000000:01:00.0", [3]int{0, 10, 0}, [3]int{1, 2, 0}, [3]int{2, 2, 1}), []MIGDevice{{Position: 2, GI: 10, UUID: migA}}},
		{"other-gpu", report(uuidB, "00000000:41:00.0", [3]int{0, 0, 0}), []MIGDevice{{Position: 0, GI: 2, UUID: migA}}},
		{"too-few", report(uuidA, "00000000:01:00.0", [3]int{0, 10, 0}), nil},
		{"not-in-tree", report(uuidA, "00000000:01:00.0", [3]int{0, 11, 0}, [3]int{1, 2, 0}, [3]int{2, 2, 1}), nil},
		{"nonsense", "<gpu id=", []MIGDevice{{Position: 0, GI: 2, UUID: migA}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ask := func(_ context.Context, args ...string) ([]byte, error) {
				if args[0] == "-L" {
					return []byte(smiList), nil
				}
				return []byte(tc.report), nil
			}
			got, _, err := inv.ResolveMIG(t.Context(), h, []MIGName{{Text: migA, UUID: migA, Parent: -1, Position: -1, GI: -1, CI: -1}}, everything, MIGSource{SMI: ask})
			if (err == nil) != (tc.want != nil) {
				t.Errorf("ResolveMIG() = %v", err)
			}
			same(t, "ResolveMIG", got, tc.want)
		})
	}
}

func TestResolveMIGCache(t *testing.T) {
	t.Parallel()
	h := stand(t, migTree()...)
	inv := inventory(t, h)
	dir := filepath.Join(t.TempDir(), "run")
	asked := 0
	src := MIGSource{SMI: smi(smiList, &asked), CacheDir: dir}
	resolve := func(uuid string) error {
		_, warnings, err := inv.ResolveMIG(t.Context(), h, []MIGName{{Text: uuid, UUID: uuid, Parent: -1, Position: -1, GI: -1, CI: -1}}, everything, src)
		if len(warnings) > 0 {
			t.Errorf("warnings %v", warnings)
		}
		return err
	}
	steps := []struct {
		name   string
		before func()
		uuid   string
		found  bool
		want   int
	}{
		{"first", func() {}, migA, true, 1},
		{"again", func() {}, migA, true, 1},
		{"other", func() {}, migD, true, 1},
		{"missing", func() {}, "MIG-ffffffff-89ab-cdef-0123-456789abcd00", false, 2},
		{"corrupt", func() { put(t, filepath.Join(dir, migCacheFile), "state x\nMIG-1 1") }, migA, true, 3},
		{"after-corrupt", func() {}, migA, true, 3},
		{"tree-changed", func() {
			put(t, filepath.Join(h.Proc, "driver/nvidia/capabilities/gpu1/mig/gi1/ci0/access"), "")
			src.SMI = smi(strings.Replace(smiList, "GPU 2", "  MIG 1g.10gb Device 1: (UUID: "+strings.Replace(migD, "03", "04", 1)+")\nGPU 2", 1), &asked)
		}, migB, true, 4},
	}
	for _, step := range steps {
		step.before()
		if err := resolve(step.uuid); (err == nil) != step.found || asked != step.want {
			t.Errorf("%s: ResolveMIG(%s) = %v, nvidia-smi asked %d times, want %d", step.name, step.uuid, err, asked, step.want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("cache directory has %v, %v, want one file", entries, err)
	}
}

func TestResolveMIGCacheNotWritable(t *testing.T) {
	t.Parallel()
	h := stand(t, migTree()...)
	inv := inventory(t, h)
	asked := 0
	src := MIGSource{SMI: smi(smiList, &asked), CacheDir: filepath.Join(h.Proc, "devices")}
	got, warnings, err := inv.ResolveMIG(t.Context(), h, []MIGName{{UUID: migA, Parent: -1, Position: -1, GI: -1, CI: -1}}, everything, src)
	if err != nil || len(got) != 1 {
		t.Errorf("ResolveMIG() = %v, %v, want the device", got, err)
	}
	same(t, "warnings", codes(warnings), []string{"mig-cache"})
}

func FuzzParseMIGCache(f *testing.F) {
	f.Add([]byte("state x\nMIG-1 0 1 2\n"))
	f.Add([]byte("state x\nMIG-1 9 1 2\n"))
	f.Add([]byte("state y\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for uuid, place := range parseMIGCache(data, "x", 2) {
			if place.gpu < 0 || place.gpu > 1 || !strings.HasPrefix(uuid, "MIG-") {
				t.Errorf("parseMIGCache(%q) has %q: %+v", data, uuid, place)
			}
		}
	})
}

func TestParseMIGCache(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, data string
		want       map[string]migPlace
	}{
		{"right", "state x\nMIG-1 0 1 2\nMIG-2 1 3 0\n", map[string]migPlace{"MIG-1": {0, 1, 2}, "MIG-2": {1, 3, 0}}},
		{"other-state", "state y\nMIG-1 0 1 2\n", nil},
		{"gpu-too-high", "state x\nMIG-1 2 1 2\n", nil},
		{"short-line", "state x\nMIG-1 0\n", nil},
		{"not-mig", "state x\nGPU-1 0 1 2\n", nil},
		{"empty", "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := parseMIGCache([]byte(tc.data), "x", 2)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(migPlace{})); diff != "" {
				t.Errorf("parseMIGCache (-want +got):\n%s", diff)
			}
		})
	}
}
