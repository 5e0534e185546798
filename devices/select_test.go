package devices

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

var everything = []string{"all"}

func TestSelect(t *testing.T) {
	t.Parallel()
	inv := inventory(t, stand(t, three()...))
	for _, tc := range []struct {
		name  string
		names []string
		want  []int
	}{
		{"nothing", nil, nil},
		{"none", []string{"none"}, nil},
		{"empty", []string{""}, nil},
		{"blank", []string{" ", ""}, nil},
		{"all", []string{"all"}, []int{0, 1, 2}},
		{"all-upper", []string{"ALL"}, []int{0, 1, 2}},
		{"all-behind-index", []string{"0", "all"}, []int{0, 1, 2}},
		{"none-first", []string{"none", "all"}, nil},
		{"all-first", []string{"all", "none", "7"}, []int{0, 1, 2}},
		{"index", []string{"1"}, []int{1}},
		{"blanks", []string{" 0 ", "", "\t1"}, []int{0, 1}},
		{"order", []string{"2", "0"}, []int{0, 2}},
		{"duplicates", []string{"0", uuidA, "01:00.0", "0"}, []int{0}},
		{"uuid", []string{uuidB}, []int{1}},
		{"uuid-upper", []string{strings.ToUpper(uuidB)}, []int{1}},
		{"uuid-lower-prefix-word", []string{"gpu-" + uuidB[4:]}, []int{1}},
		{"uuid-prefix", []string{"GPU-aabbccdd"}, []int{2}},
		{"uuid-prefix-long", []string{"GPU-5d0f1e0a-9"}, []int{1}},
		{"bus-long", []string{"00000000:41:00.0"}, []int{1}},
		{"bus-four", []string{"0000:81:00.0"}, []int{2}},
		{"bus-short", []string{"81:00.0"}, []int{2}},
		{"leading-zero", []string{"01"}, []int{1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			sel, err := inv.Select(tc.names, everything)
			if err != nil {
				t.Fatalf("Select(%q) = %v", tc.names, err)
			}
			var got []int
			for _, gpu := range sel.GPUs {
				got = append(got, gpu.Index)
			}
			same(t, "GPUs", got, tc.want)
			same(t, "MIG", sel.MIG, []MIGName(nil))
			if wantAll := len(tc.want) == 3; sel.All != wantAll {
				t.Errorf("All = %v, want %v", sel.All, wantAll)
			}
		})
	}
}

func TestSelectUnknown(t *testing.T) {
	t.Parallel()
	inv := inventory(t, stand(t, three()...))
	long := strings.Repeat("x", 500)
	for _, tc := range []struct{ name, device, want string }{
		{"index-too-high", "7", `find device "7": no such GPU (have: 0 ` + uuidA + ` 0000:01:00.0 NVIDIA A100-SXM4-80GB; 1 ` + uuidB},
		{"index-huge", strings.Repeat("9", 40), "no such GPU"},
		{"negative", "-1", "no such GPU"},
		{"plus", "+1", "no such GPU"},
		{"uuid", "GPU-deadbeef", "no such GPU"},
		{"ambiguous", "GPU-5d0f1e0a", "ambiguous, it is the beginning of the UUIDs of 2 GPUs"},
		{"short-prefix", "GPU-5d0f1e0", "at least 8 hexadecimal digits"},
		{"only-gpu", "GPU-", "at least 8 hexadecimal digits"},
		{"volume-sentinel", "/var/run/nvidia-container-devices", `"/var/run/nvidia-container-devices"`},
		{"scheduler-sentinel", "no-gpu-has-10MiB-to-run", `"no-gpu-has-10MiB-to-run"`},
		{"false", "false", `"false"`},
		{"cut", long, `"` + long[:200] + `"`},
		{"control-characters", "a\x1b[2Jb", `"a\x1b[2Jb"`},
		{"bus-id", "02:00.0", "no such GPU"},
		{"mig-parent", "9:0", `"9:0"`},
		{"mig-old-parent", "MIG-GPU-00000000-1111-4222-8333-444455556666/1/0", `"MIG-GPU-00000000-1111-4222-8333-444455556666/1/0"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			sel, err := inv.Select([]string{"0", tc.device}, everything)
			var unknown *UnknownDeviceError
			if !errors.As(err, &unknown) || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("Select(%q) = %v, want an UnknownDeviceError with %q", tc.device, err, tc.want)
			}
			same(t, "selection", sel, Selection{})
			if unknown.Name != tc.device || unknown.Cure() == "" || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("error %q is of %q, cure %q", err, unknown.Name, unknown.Cure())
			}
		})
	}
}

func TestSelectUnknownOnEmptyHost(t *testing.T) {
	t.Parallel()
	inv := inventory(t, stand(t, driver()...))
	_, err := inv.Select([]string{"0"}, everything)
	want := `find device "0": no such GPU (have: none)`
	if err == nil || err.Error() != want {
		t.Errorf("Select() = %v, want %s", err, want)
	}
	if _, err := inv.Select(everything, everything); !errors.Is(err, ErrNoHealthyGPU) {
		t.Errorf("Select(all) = %v, want ErrNoHealthyGPU", err)
	}
}

func TestSelectListIsBounded(t *testing.T) {
	t.Parallel()
	var gpus []GPU
	for i := range 40 {
		gpus = append(gpus, GPU{Index: i})
	}
	err := &UnknownDeviceError{Name: "x", Have: gpus}
	if text := err.Error(); !strings.Contains(text, "15; and 24 more)") {
		t.Errorf("Error() = %q, want 16 GPUs and 24 more", text)
	}
}

func TestSelectUninitialised(t *testing.T) {
	t.Parallel()
	inv := inventory(t, stand(t, driver("gpu 0000:01:00.0 0 GPU-????????-????-????-????-???????????? 0x20b2 NVIDIA A100")...))
	if sel, err := inv.Select([]string{"01:00.0"}, everything); err != nil || len(sel.GPUs) != 1 || sel.GPUs[0].UUID != "" {
		t.Errorf("Select by bus id = %+v, %v, want the GPU without UUID", sel, err)
	}
	_, err := inv.Select([]string{uuidA}, everything)
	if err == nil || !strings.Contains(err.Error(), "run nvidia-smi once") {
		t.Errorf("Select by UUID = %v, want what to do", err)
	}
	_, err = inv.Select([]string{"GPU-????????-????-????-????-????????????"}, everything)
	if err == nil {
		t.Error("Select by question marks finds something")
	}
}

// broken has a healthy GPU between an excluded one and one without information.
func broken(t *testing.T) Inventory {
	t.Helper()
	return inventory(t, stand(t, driver(
		`file proc/driver/nvidia/gpus/0000:01:00.0/information Model: NVIDIA A100\nDevice Minor: 0\nGPU Excluded: Yes\n`,
		"gpu 0000:02:00.0 1 "+uuidB+" 0x20b2 NVIDIA A100",
		"dir proc/driver/nvidia/gpus/0000:03:00.0",
	)...))
}

func TestSelectBroken(t *testing.T) {
	t.Parallel()
	inv := broken(t)
	sel, err := inv.Select(everything, everything)
	if err != nil || len(sel.GPUs) != 1 || sel.GPUs[0].Index != 1 || len(sel.Warnings) != 2 {
		t.Fatalf("Select(all) = %+v, %v, want GPU 1 and two warnings", sel, err)
	}
	for _, w := range sel.Warnings {
		if w.Code != "gpu-faulty" || w.Message == "" {
			t.Errorf("warning %+v, want gpu-faulty", w)
		}
	}
	if sel, err := inv.Select([]string{"1"}, everything); err != nil || len(sel.Warnings) != 0 {
		t.Errorf("Select(1) = %+v, %v: a broken GPU that nobody asked for must stop nobody", sel, err)
	}
	var named *BrokenDeviceError
	for _, name := range []string{"0", "2", "01:00.0", "0:1"} {
		if _, err := inv.Select([]string{name}, everything); !errors.As(err, &named) || named.Name != name {
			t.Errorf("Select(%s) = %v, want a BrokenDeviceError", name, err)
		}
	}
	_, err = inv.Select(everything, []string{"0", "2"})
	if !errors.Is(err, ErrNoHealthyGPU) || !strings.Contains(err.Error(), "and 1 more") {
		t.Errorf("Select(all) of broken ones = %v, want ErrNoHealthyGPU and both", err)
	}
}

func TestSelectAllow(t *testing.T) {
	t.Parallel()
	inv := inventory(t, stand(t, three()...))
	for _, tc := range []struct {
		name  string
		allow []string
		want  []int
	}{
		{"all", everything, []int{0, 1, 2}},
		{"all-upper", []string{" ALL "}, []int{0, 1, 2}},
		{"nil", nil, nil},
		{"index", []string{"1"}, []int{1}},
		{"uuid-prefix", []string{"GPU-aabbccdd"}, []int{2}},
		{"uuid-prefix-of-two", []string{"GPU-5d0f1e0a"}, []int{0, 1}},
		{"bus-id", []string{"00000000:41:00.0"}, []int{1}},
		{"pattern", []string{"*A100*"}, []int{0, 1}},
		{"pattern-any-case", []string{"*geforce*"}, []int{2}},
		{"whole-model", []string{"NVIDIA GeForce RTX 4090"}, []int{2}},
		{"part-of-model", []string{"GeForce"}, nil},
		{"bad-pattern", []string{"[", "2"}, []int{2}},
		{"digit-is-no-pattern", []string{"9"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []int
			for i := range inv.GPUs {
				sel, err := inv.Select([]string{fmt.Sprint(i)}, tc.allow)
				var barred *NotAllowedError
				switch {
				case err == nil && len(sel.GPUs) == 1:
					got = append(got, i)
				case !errors.As(err, &barred) || barred.GPU.Index != i || barred.Cure() == "":
					t.Errorf("Select(%d) = %v, want a NotAllowedError", i, err)
				}
			}
			same(t, "allowed", got, tc.want)
			sel, err := inv.Select(everything, tc.allow)
			var barred *NotAllowedError
			if len(sel.GPUs) != len(tc.want) || (len(tc.want) == 0) != errors.As(err, &barred) {
				t.Errorf("Select(all) = %+v, %v, want %d GPUs", sel.GPUs, err, len(tc.want))
			}
		})
	}
}

func TestMatchModelWithSlash(t *testing.T) {
	t.Parallel()
	if !matchModel("quadro*", "Quadro RTX 6000/8000") || matchModel("*", "") {
		t.Error("a star must match a slash, and nothing matches an unknown model")
	}
}

func TestSelectMIG(t *testing.T) {
	t.Parallel()
	inv := inventory(t, stand(t, three()...))
	const uuid = "MIG-01234567-89ab-cdef-0123-456789abcdef"
	sel, err := inv.Select([]string{"1:0", strings.ToUpper(uuid), "0:1", "01:0", "MIG-" + uuidB + "/7/0", uuid, "0"}, everything)
	if err != nil {
		t.Fatalf("Select() = %v", err)
	}
	same(t, "MIG", sel.MIG, []MIGName{
		{Text: "1:0", Parent: 1, Position: 0, GI: -1, CI: -1},
		{Text: strings.ToUpper(uuid), UUID: uuid, Parent: -1, Position: -1, GI: -1, CI: -1},
		{Text: "0:1", Parent: 0, Position: 1, GI: -1, CI: -1},
		{Text: "MIG-" + uuidB + "/7/0", Parent: 1, Position: -1, GI: 7, CI: 0},
	})
	if len(sel.GPUs) != 1 || sel.GPUs[0].Index != 0 {
		t.Errorf("GPUs = %+v, want GPU 0 only: a MIG device does not select its parent", sel.GPUs)
	}
	var barred *NotAllowedError
	if _, err := inv.Select([]string{"1:0"}, []string{"0"}); !errors.As(err, &barred) || barred.Name != "1:0" {
		t.Errorf("Select() of a MIG device on a barred GPU = %v, want a NotAllowedError", err)
	}
}

func FuzzSelect(f *testing.F) {
	inv := Inventory{GPUs: []GPU{
		{Index: 0, UUID: uuidA, BusID: "0000:01:00.0", Model: "NVIDIA A100"},
		{Index: 1, UUID: uuidB, BusID: "0000:41:00.0", Fault: "x"},
	}}
	for _, seed := range []string{"0", "0,,1", " 0 ", "ALL", "", "void", "none", uuidA, "0:1", "01:00.0", "MIG-" + uuidA + "/1/0", "GPU-5d0f1e0a", "\xff", "*"} {
		f.Add(seed, "all")
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, names, allow string) {
		sel, err := inv.Select(strings.Split(names, ","), strings.Split(allow, ","))
		if err != nil && (len(sel.GPUs) > 0 || len(sel.MIG) > 0) {
			t.Errorf("Select(%q, %q) = %+v with %v", names, allow, sel, err)
		}
		for _, gpu := range sel.GPUs {
			if gpu.Fault != "" {
				t.Errorf("Select(%q, %q) gives a broken GPU", names, allow)
			}
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x1b\x00") {
			t.Errorf("Select(%q, %q) = %q, not printable", names, allow, err)
		}
	})
}
