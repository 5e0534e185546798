package compat

import (
	"errors"
	"strings"
	"testing"
)

func TestMismatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		need     CUDA
		declared bool
		policy   OnMismatch
		disabled bool

		fails, warns bool
	}{
		{name: "compatible", need: 11040, declared: true, policy: MismatchFail},
		{name: "minor", need: 11080, declared: true, policy: MismatchFail},
		{name: "auto-declared", need: 12040, declared: true, policy: MismatchAuto, fails: true},
		{name: "auto-detected", need: 12040, policy: MismatchAuto, warns: true},
		{name: "unset-declared", need: 12040, declared: true, fails: true},
		{name: "unset-detected", need: 12040, warns: true},
		{name: "fail-detected", need: 12040, policy: MismatchFail, fails: true},
		{name: "warn-declared", need: 12040, declared: true, policy: MismatchWarn, warns: true},
		{name: "disabled", need: 12040, declared: true, policy: MismatchAuto, disabled: true, warns: true},
		{name: "disabled-fail", need: 12040, declared: true, policy: MismatchFail, disabled: true, warns: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := Input{Driver: driver(t, "470.256.02"), Runtime: Runtime{Version: tt.need, Source: "env:CUDA_VERSION", Declared: tt.declared}}
			warnings, err := Decide(in).Mismatch(in, tt.policy, tt.disabled)
			if (err != nil) != tt.fails || (len(warnings) == 1) != tt.warns || len(warnings) > 1 {
				t.Fatalf("Mismatch() = %v, %v; want an error: %t, a warning: %t", warnings, err, tt.fails, tt.warns)
			}
			if err != nil && !errors.As(err, new(*IncompatibleError)) {
				t.Errorf("Mismatch() error = %T", err)
			}
		})
	}
}

func TestIncompatibleErrorText(t *testing.T) {
	t.Parallel()
	in := Input{
		Driver: driver(t, "470.256.02"), Runtime: Runtime{Version: 12040, Source: "env:CUDA_VERSION", Declared: true},
		Overlays: []Overlay{overlay(t, "550.54.14")}, GPUs: []GPU{rtx309},
	}
	_, err := Decide(in).Mismatch(in, MismatchAuto, false)
	var incompatible *IncompatibleError
	if !errors.As(err, &incompatible) {
		t.Fatal(err)
	}
	const want = `run CUDA 12.4 programs: the host's driver 470.256.02 supports CUDA 11.4 and the image needs CUDA 12.4 (CUDA_VERSION), which needs driver 525 or newer; ` +
		`the cuda-compat package in /usr/local/cuda-x/compat (550.54.14) is not used because GPU NVIDIA GeForce RTX 3090 does not support forward compatibility, ` +
		`a driver library newer than the host's driver (only data-centre and professional RTX GPUs do)`
	if got := err.Error(); got != want {
		t.Errorf("Error() = %q\nwant      %q", got, want)
	}
	const cure = `update the host to driver 525 or newer, or take an image for CUDA 11.4 or older, ` +
		`or start the container all the same with NVIDIA_DISABLE_REQUIRE=true in its environment (its CUDA programs then fail with error 35)`
	if got := incompatible.Cure(); got != cure {
		t.Errorf("Cure() = %q\nwant     %q", got, cure)
	}
	old := &IncompatibleError{Driver: driver(t, "340.108"), RuntimeCUDA: 12040}
	if got := old.Cure(); strings.Contains(got, "unknown") || strings.Contains(got, "an image for") {
		t.Errorf("Cure() for a driver older than the table = %q", got)
	}
}

// The advice must be of use: no package for a GPU that cannot use one, and none
// where there is one already.
func TestIncompatibleErrorPackage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		need     CUDA
		overlays []Overlay
		gpus     []GPU
		mode     Mode
		want     PackageHelp
	}{
		{name: "none there", need: 12040, gpus: []GPU{a100}, want: PackageMissing},
		{name: "older there", need: 12040, overlays: []Overlay{overlay(t, "460.32.03")}, gpus: []GPU{a100}, want: PackageMissing},
		{name: "geforce", need: 12040, gpus: []GPU{rtx309}, want: PackageNone},
		{name: "one geforce", need: 12040, gpus: []GPU{a100, rtx309}, want: PackageNone},
		{name: "geforce forced", need: 12040, gpus: []GPU{rtx309}, mode: ModeForce, want: PackageMissing},
		{name: "right one there", need: 12040, overlays: []Overlay{overlay(t, "550.54.14", lists(535))}, gpus: []GPU{a100}, want: PackageNone},
		{name: "off", need: 12040, overlays: []Overlay{overlay(t, "550.54.14")}, gpus: []GPU{a100}, mode: ModeOff, want: PackageOff},
		{name: "off and none", need: 12040, gpus: []GPU{a100}, mode: ModeOff, want: PackageNone},
		{name: "off and geforce", need: 12040, overlays: []Overlay{overlay(t, "550.54.14")}, gpus: []GPU{rtx309}, mode: ModeOff, want: PackageNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := Input{Driver: driver(t, "470.256.02"), Runtime: Runtime{Version: tt.need, Declared: true}, Overlays: tt.overlays, GPUs: tt.gpus, Mode: tt.mode}
			_, err := Decide(in).Mismatch(in, MismatchAuto, false)
			var incompatible *IncompatibleError
			if !errors.As(err, &incompatible) || incompatible.Package != tt.want {
				t.Errorf("Mismatch() = %+v, want one with Package %d", err, tt.want)
			}
		})
	}
}

// A warning is about a container that starts: it must not say how to start it.
func TestMismatchWarningText(t *testing.T) {
	t.Parallel()
	in := Input{Driver: driver(t, "470.256.02"), Runtime: Runtime{Version: 12040}, GPUs: []GPU{a100}}
	warnings, err := Decide(in).Mismatch(in, MismatchAuto, false)
	if err != nil || len(warnings) != 1 {
		t.Fatalf("Mismatch() = %v, %v, want one warning", warnings, err)
	}
	if text := warnings[0].Message; strings.Contains(text, "all the same") || !strings.HasSuffix(text, "or add the package cuda-compat-12-4 to the image") {
		t.Errorf("warning %q", text)
	}
}
