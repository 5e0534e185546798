package hook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// textOf is a plan as people read it, without its lists of files.
func textOf(t *testing.T, p Plan) string {
	t.Helper()
	var b strings.Builder
	if err := p.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWriteTextRefused(t *testing.T) {
	t.Parallel()
	p := Plan{
		Action: Inject, Container: ContainerRef{ID: "c1"}, Driver: DriverRef{Version: "470.256.02", CUDA: "11.4", Root: "/"},
		Mounts: []Mount{{Target: "/usr/local/nvidia/lib64/libcuda.so.470.256.02"}},
		Compat: Compat{Decision: "incompatible", DriverCUDA: "11.4", RuntimeCUDA: "12.4", RuntimeSource: "env:CUDA_VERSION", Reason: "it is too old"},
		Exit:   &Exit{Code: 14, Line: "gpu-hook: run CUDA 12.4 programs: it is too old; update it, or do without", Cure: "update it, or do without"},
	}
	const want = `Container c1 does not start (exit code 14).

Why
  run CUDA 12.4 programs: it is too old

What to do (one of these)
  - update it
  - do without

What was found
  host driver    470.256.02 (CUDA 11.4), files under /

CUDA
  host driver    470.256.02, for CUDA 11.4
  image          CUDA 12.4 (its variable CUDA_VERSION says so)
  decision       incompatible: CUDA programs of this image cannot run on this host (CUDA error 35)
`
	if diff := cmp.Diff(want, textOf(t, p)); diff != "" {
		t.Errorf("WriteText (-want +got):\n%s", diff)
	}
	p.Exit.Line, p.Exit.Cure, p.Compat = "gpu-hook: find it: no such file", "", Compat{}
	if got := textOf(t, p); !strings.Contains(got, "\nWhy\n  find it: no such file\n") || strings.Contains(got, "What to do") {
		t.Errorf("WriteText without a cure:\n%s", got)
	}
}

func TestWriteTextDecision(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		compat Compat
		want   []string
	}{
		{"none", Compat{}, nil},
		{"host", Compat{Decision: "host", DriverCUDA: "12.4", Reason: "r"}, []string{
			"  host driver    550, for CUDA 12.4", "  decision       host: programs get the host's driver library (libcuda)", "  because        r",
		}},
		{"file", Compat{Decision: "minor", DriverCUDA: "12.4", RuntimeCUDA: "12.8", RuntimeSource: "file:/opt/x", Notes: []string{"n"}, Reason: "r"}, []string{
			"  host driver    550, for CUDA 12.4", "  image          CUDA 12.8 (found as /opt/x)", "                 n",
			"  decision       minor: programs get the host's driver library (libcuda), which is a little older", "                 than the image's CUDA; most work", "  because        r",
		}},
		{"overlay", Compat{Decision: "forward", Overlay: "/compat", Reason: "r"}, []string{
			"  host driver    550, for CUDA unknown",
			"  decision       forward: programs get the newer driver library (libcuda) in /compat instead of the", "                 host's", "  because        r",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := textOf(t, Plan{Action: Inject, Driver: DriverRef{Version: "550"}, Compat: tt.compat, Exit: &Exit{}})
			_, section, _ := strings.Cut(text, "\nCUDA\n")
			section, _, _ = strings.Cut(section, "\n\n")
			var got []string
			if section != "" {
				got = strings.Split(strings.TrimSuffix(section, "\n"), "\n")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("CUDA section (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParagraph(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", textWidth+5)
	for _, tt := range []struct{ name, lead, text, want string }{
		{"empty", "  - ", "", "  - \n"},
		{"short", "  - ", "a b", "  - a b\n"},
		{"control", "  ", "a\nb\tc", "  a b c\n"},
		{"long word", "  ", "a " + long + " b", "  a\n  " + long + "\n  b\n"},
		{"full line", "  ", strings.Repeat("y", textWidth-4) + " z z", "  " + strings.Repeat("y", textWidth-4) + " z\n  z\n"},
		{"not ascii", "  ", strings.Repeat("ü", textWidth-4) + " z", "  " + strings.Repeat("ü", textWidth-4) + " z\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			paragraph(&b, tt.lead, tt.text)
			if diff := cmp.Diff(tt.want, b.String()); diff != "" {
				t.Errorf("paragraph (-want +got):\n%s", diff)
			}
		})
	}
}
