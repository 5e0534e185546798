package compat

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cuda130 is NVIDIA_REQUIRE_CUDA as the CUDA 13.0 images set it: CUDA 13.0, or
// one of the brands with forward compatibility and one of the branches that
// its compat package works with.
func cuda130() string {
	terms := []string{"cuda>=13.0"}
	for _, branch := range []string{"driver>=535,driver<536", "driver>=550,driver<551", "driver>=565,driver<566", "driver>=570,driver<571", "driver>=575,driver<576"} {
		for _, brand := range []string{"unknown", "grid", "tesla", "nvidia", "quadro", "quadrortx", "nvidiartx", "vapps", "vpc", "vcs", "vws", "cloudgaming"} {
			terms = append(terms, "brand="+brand+","+branch)
		}
	}
	return strings.Join(terms, " ")
}

// TestExpressions has the rows of the C grammar's table and more.
func TestExpressions(t *testing.T) {
	t.Parallel()
	const (
		met     = "met"
		assumed = "assumed"
		unmet   = "unmet"
		invalid = "invalid"
	)
	for _, tt := range []struct {
		name, expression string
		driver           string // 550.54.14 unless given
		gpus             []GPU  // A100 unless given
		want             string
	}{
		// Property names.
		{name: "name-case", expression: "CUDA>=12.4,Driver>=535,ARCH>=8,bRAND=nvidia", want: met},
		{name: "unknown-property", expression: "foo=1", want: invalid},
		{name: "unknown-not-reached", expression: "cuda>=12 foo=1", want: met},
		{name: "unknown-reached-first", expression: "foo=1 cuda>=12", want: invalid},
		{name: "unknown-reached-after-or", expression: "cuda>=13 foo=1", want: invalid},
		{name: "unknown-not-reached-in-and", expression: "cuda>=13,foo=1 cuda>=12", want: met},
		{name: "unknown-reached-in-and", expression: "cuda>=12,foo=1 cuda>=12", want: invalid},
		{name: "empty-property", expression: "=1", want: invalid},
		{name: "no-comparison", expression: "cuda", want: invalid},
		{name: "no-value", expression: "cuda>=", want: invalid},

		// Versions.
		{name: "version-zero-padded", expression: "driver=550.054.014", want: met},
		{name: "version-missing-is-0", expression: "cuda=12.4.0.0", want: met},
		{name: "version-more", expression: "cuda>=12.4.1", want: unmet},
		{name: "version-less", expression: "cuda>=12", want: met},
		{name: "version-numeric", expression: "driver>=550.9", want: met},
		{name: "version-huge", expression: "driver<99999999999999999999999999.1", want: met},
		{name: "version-letters", expression: "cuda>=v12", want: invalid},
		{name: "version-semver", expression: "cuda>=12.4-rc1", want: invalid},
		{name: "version-empty-component", expression: "cuda>=12..", want: met},

		// Comparisons.
		{name: "equal", expression: "cuda=12.4", want: met},
		{name: "equal-not", expression: "cuda=12.2", want: unmet},
		{name: "unequal", expression: "cuda!=12.2", want: met},
		{name: "unequal-not", expression: "cuda!=12.4", want: unmet},
		{name: "bang", expression: "cuda!12.2", want: met},
		{name: "less", expression: "driver<551", want: met},
		{name: "less-not", expression: "driver<550.54.14", want: unmet},
		{name: "less-equal", expression: "driver<=550.54.14", want: met},
		{name: "greater", expression: "driver>550", want: met},
		{name: "greater-not", expression: "driver>550.54.14", want: unmet},
		{name: "double-equal", expression: "cuda==12.4", want: invalid},
		{name: "arrow", expression: "cuda=>12.4", want: invalid},
		{name: "both", expression: "cuda<>12.4", want: invalid},
		{name: "double-equal-brand", expression: "brand==nvidia", want: invalid},

		// Brands.
		{name: "brand-case", expression: "brand=NVIDIA", want: met},
		{name: "brand-not", expression: "brand=tesla", want: unmet},
		{name: "brand-unequal", expression: "brand!=geforce", want: met},
		{name: "brand-unequal-not", expression: "brand!=NVidia", want: unmet},
		{name: "brand-order", expression: "brand>=nvidia", want: invalid},
		{name: "brand-tesla", expression: "brand=tesla", gpus: []GPU{t4}, want: met},
		{name: "brand-workstation", expression: "brand=nvidiartx", gpus: []GPU{a6000}, want: met},
		{name: "brand-geforce", expression: "brand=geforce", gpus: []GPU{rtx309}, want: met},
		{name: "brand-geforcertx", expression: "brand=GeForceRTX", gpus: []GPU{rtx309}, want: met},
		{name: "brand-geforcertx-unequal", expression: "brand!=geforcertx", gpus: []GPU{rtx309}, want: unmet},
		{
			name: "brand-geforcertx-gtx", expression: "brand=geforcertx", gpus: []GPU{{Model: "NVIDIA GeForce GTX 1080", Brand: "geforce"}},
			want: unmet,
		},
		{name: "brand-titan", expression: "brand=titan", gpus: []GPU{titan}, want: met},
		{name: "brand-titanrtx", expression: "brand=titanrtx", gpus: []GPU{titan}, want: met},
		{name: "brand-quadro-is-no-quadrortx", expression: "brand=quadrortx", gpus: []GPU{p4000}, want: unmet},
		{name: "brand-unknown-fact", expression: "brand=tesla", gpus: []GPU{noName}, want: assumed},

		// Compute capability.
		{name: "arch", expression: "arch>=7.0,arch<8.6", want: met},
		{name: "arch-not", expression: "arch>8.0", want: unmet},
		{name: "arch-unknown-fact", expression: "arch>=9.0", gpus: []GPU{noName}, want: assumed},

		// Structure.
		{name: "empty", expression: "", want: met},
		{name: "comma", expression: ",", want: met},
		{name: "commas-and-spaces", expression: ", ,,  ,", want: met},
		{name: "trailing-space", expression: "cuda>=13 ", want: unmet},
		{name: "trailing-comma-term", expression: "cuda>=13 ,", want: unmet},
		{name: "spaces", expression: "  cuda>=13   cuda>=12.0 ", want: met},
		{name: "commas", expression: ",,cuda>=12,,driver>=535,", want: met},
		{name: "and", expression: "cuda>=12,driver<550", want: unmet},
		{name: "or", expression: "cuda>=13 driver<550 driver>=550,driver<551", want: met},
		{name: "tab", expression: "cuda>=12\tcuda>=11", want: invalid},
		{name: "long-clause", expression: "cuda>=" + strings.Repeat("1", 200), want: invalid},
		{name: "longest-clause", expression: "cuda<" + strings.Repeat("1", maxClause-5), want: met},

		// GPUs.
		{name: "every-gpu", expression: "brand=nvidia", gpus: []GPU{a100, t4}, want: unmet},
		{name: "every-gpu-met", expression: "brand=nvidia brand=tesla", gpus: []GPU{a100, t4}, want: met},
		{name: "no-gpu", expression: "brand=tesla,arch>=99", gpus: []GPU{}, want: met},
		{name: "no-gpu-driver", expression: "brand=tesla,driver>=600", gpus: []GPU{}, want: unmet},

		// Driver facts.
		{name: "newer-than-table", expression: "cuda>=13.0", driver: "620.1", want: met},
		{name: "newer-than-table-later", expression: "cuda>=13.9", driver: "620.1", want: assumed},
		{name: "newer-than-table-older", expression: "cuda<13.0", driver: "620.1", want: unmet},
		{name: "newer-than-table-last", expression: "cuda>13.4", driver: "620.1", want: met},
		{name: "older-than-table", expression: "cuda>=7.0", driver: "340.108", want: unmet},
		{name: "older-than-table-less", expression: "cuda<8", driver: "340.108", want: met},
		{name: "older-than-table-unknown", expression: "cuda>=6.0", driver: "340.108", want: assumed},
		{name: "no-driver", expression: "cuda>=12,driver>=535", driver: "none", want: assumed},

		// The real one.
		{name: "13.0-host-580", expression: cuda130(), driver: "580.65.06", want: met},
		{name: "13.0-a100-535", expression: cuda130(), driver: "535.183.01", want: met},
		{name: "13.0-a100-550", expression: cuda130(), want: met},
		{name: "13.0-a100-545", expression: cuda130(), driver: "545.23.08", want: unmet},
		{name: "13.0-t4-575", expression: cuda130(), driver: "575.57.08", gpus: []GPU{t4}, want: met},
		{name: "13.0-geforce-550", expression: cuda130(), gpus: []GPU{rtx309}, want: unmet},
		{name: "13.0-titan-550", expression: cuda130(), gpus: []GPU{titan}, want: unmet},
		{name: "13.0-quadro-550", expression: cuda130(), gpus: []GPU{p4000}, want: met},
		{name: "13.0-unknown-550", expression: cuda130(), gpus: []GPU{noName}, want: assumed},
		{name: "13.0-mixed-550", expression: cuda130(), gpus: []GPU{a100, rtx309}, want: unmet},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := tt.driver
			if text == "" {
				text = "550.54.14"
			} else if text == "none" {
				text = ""
			}
			facts := Facts{Driver: driver(t, text), GPUs: tt.gpus}
			facts.CUDA, _ = facts.Driver.CUDA()
			if facts.GPUs == nil {
				facts.GPUs = []GPU{a100}
			}
			warnings, err := CheckRequirements([]string{"NVIDIA_REQUIRE_TEST=" + tt.expression}, facts, false)
			got := met
			var unsatisfied *UnsatisfiedError
			var expression *ExpressionError
			switch {
			case errors.As(err, &unsatisfied):
				got = unmet
			case errors.As(err, &expression):
				got = invalid
			case err != nil:
				t.Fatal(err)
			case len(warnings) > 0:
				got = assumed
			}
			if got != tt.want {
				t.Errorf("%.100q is %s, want %s (%v, %v)", tt.expression, got, tt.want, err, warnings)
			}
		})
	}
}

func TestCheckRequirements(t *testing.T) {
	t.Parallel()
	facts := Facts{CUDA: 12040, Driver: driver(t, "550.54.14"), GPUs: []GPU{a100}}
	for _, tt := range []struct {
		name     string
		env      []string
		disabled bool

		want  string // variable in the error
		codes []string
	}{
		{name: "none", env: []string{"PATH=/bin", "CUDA_VERSION=99", "ODD"}},
		{name: "met", env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=12.4"}},
		{name: "unmet", env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=13"}, want: "NVIDIA_REQUIRE_CUDA"},
		{name: "later-wins", env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=13", "NVIDIA_REQUIRE_CUDA=cuda>=12"}},
		{
			name: "later-wins-unmet", env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=12", "NVIDIA_REQUIRE_CUDA=cuda>=13"},
			want: "NVIDIA_REQUIRE_CUDA",
		},
		{
			name: "several", env: []string{"NVIDIA_REQUIRE_Z=cuda>=13", "NVIDIA_REQUIRE_CUDA=cuda>=12", "NVIDIA_REQUIRE_A=driver>=600"},
			want: "NVIDIA_REQUIRE_A",
		},
		{name: "bare-prefix", env: []string{"NVIDIA_REQUIRE_=cuda>=13"}, want: "NVIDIA_REQUIRE_"},
		{name: "name-is-case-sensitive", env: []string{"nvidia_require_cuda=cuda>=13", "NVIDIA_REQUIRECUDA=cuda>=13"}},
		{name: "without-value", env: []string{"NVIDIA_REQUIRE_CUDA"}},
		{name: "jetpack", env: []string{"NVIDIA_REQUIRE_JETPACK=csv-mounts=all", "NVIDIA_REQUIRE_JETPACK_HOST_MOUNTS=base-only"}},
		{name: "disabled-by-configuration", env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=13"}, disabled: true, codes: []string{"requirement-ignored"}},
		{name: "disabled-by-variable", env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=13", "NVIDIA_DISABLE_REQUIRE=true"}, codes: []string{"requirement-ignored"}},
		{name: "disabled-malformed", env: []string{"NVIDIA_REQUIRE_CUDA=nonsense", "NVIDIA_DISABLE_REQUIRE=1"}, codes: []string{"requirement-ignored"}},
		{name: "disabled-met", env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=12", "NVIDIA_DISABLE_REQUIRE=1"}},
		{
			name: "yes-does-not-disable", env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=13", "NVIDIA_DISABLE_REQUIRE=yes"},
			want: "NVIDIA_REQUIRE_CUDA",
		},
		{
			name: "false-does-not-disable", env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=13", "NVIDIA_DISABLE_REQUIRE=1", "NVIDIA_DISABLE_REQUIRE=0"},
			want: "NVIDIA_REQUIRE_CUDA",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			warnings, err := CheckRequirements(tt.env, facts, tt.disabled)
			got := ""
			var unsatisfied *UnsatisfiedError
			if errors.As(err, &unsatisfied) {
				got = unsatisfied.Variable
			} else if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("unsatisfied is %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(tt.codes, codes(warnings)); diff != "" {
				t.Errorf("warnings %v (-want +got):\n%s", warnings, diff)
			}
		})
	}
}

func TestRequirementsDisabled(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"1": true, "t": true, "T": true, "TRUE": true, "true": true, "True": true, "0": false, "yes": false, "": false, "tRUE": false, "on": false} {
		if got := RequirementsDisabled([]string{"NVIDIA_DISABLE_REQUIRE=" + value}); got != want {
			t.Errorf("RequirementsDisabled(%q) = %t, want %t", value, got, want)
		}
	}
	if RequirementsDisabled([]string{"NVIDIA_DISABLE_REQUIRE"}) {
		t.Error("an entry without = disables requirements")
	}
}

func FuzzExpression(f *testing.F) {
	for _, seed := range []string{cuda130(), "cuda>=12 foo=1", "brand!=x,arch!1", "cuda==1", ",", " ", "driver<=1.2.3.4.5.6", "brand=\xff"} {
		f.Add(seed)
	}
	facts := Facts{CUDA: 12040, Driver: driver(f, "550.54.14"), GPUs: []GPU{a100, noName}}
	f.Fuzz(func(t *testing.T, expression string) {
		warnings, err := CheckRequirements([]string{"NVIDIA_REQUIRE_CUDA=" + expression}, facts, false)
		if err == nil {
			if _, err := CheckRequirements([]string{"NVIDIA_REQUIRE_CUDA=" + expression}, facts, true); err != nil {
				t.Fatalf("%q is met, but not when disabled: %v", expression, err)
			}
		} else if text := err.Error() + err.(interface{ Cure() string }).Cure(); strings.ContainsAny(text, "\n\r\x1b\x00") || len(text) > 4096 {
			t.Fatalf("error for %q is no line: %q", expression, text)
		}
		for _, w := range warnings {
			if strings.ContainsAny(w.Message, "\n\r\x1b\x00") {
				t.Fatalf("warning for %q is no line: %q", expression, w.Message)
			}
		}
		if lowest := lowestRequired(expression); lowest.Open() || lowest < 0 {
			t.Fatalf("lowestRequired(%q) = %d", expression, lowest)
		}
	})
}
