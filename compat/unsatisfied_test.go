package compat

import (
	"errors"
	"strings"
	"testing"
)

// The words that users see.
func TestUnsatisfiedErrorText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, expression string
		cuda             CUDA // the table's unless given
		gpus             []GPU
		want, cure       string
	}{
		{
			name: "issue", expression: "cuda>=12.8 brand=tesla,driver>=535,driver<536", gpus: []GPU{a100},
			want: `check requirement NVIDIA_REQUIRE_CUDA: the image needs "cuda>=12.8", but the host's driver 550.54.14 supports CUDA 12.4, and its alternative is not met either (whole expression "cuda>=12.8 brand=tesla,driver>=535,driver<536")`,
			cure: "use a host with driver 570 or newer, or an image for an older CUDA, or start the container all the same with NVIDIA_DISABLE_REQUIRE=true in its environment (for all containers: disable-require = true in the configuration)",
		},
		{name: "overlay", expression: "cuda>=13", cuda: 12080, want: `the container has CUDA 12.8 (driver 550.54.14) (whole`, cure: "driver 580 or newer"},
		{name: "real", expression: cuda130(), gpus: []GPU{rtx309}, want: "none of its 60 alternatives is met either", cure: "driver 580 or newer"},
		{name: "cuda-unknown", expression: "cuda>=20.0", want: "supports CUDA 12.4", cure: "use a host with a driver that supports CUDA 20.0, or"},
		{name: "cuda-less", expression: "cuda<12", want: "supports CUDA 12.4", cure: "a host with a driver for CUDA older than 12,"},
		{name: "driver", expression: "driver<=535", want: "the host's driver is 550.54.14", cure: "a host with a driver not newer than 535,"},
		{name: "driver-equal", expression: "driver=535", want: "the host's driver is 550.54.14", cure: "a host with a driver 535,"},
		{name: "arch", expression: "arch>=9.0", gpus: []GPU{a100}, want: "GPU NVIDIA A100-SXM4-80GB has compute capability 8.0", cure: "a GPU of compute capability not below 9.0,"},
		{name: "arch-unequal", expression: "arch!=8.0", gpus: []GPU{a100}, want: "has compute capability 8.0", cure: "compute capability other than 8.0,"},
		{name: "brand", expression: "brand=tesla", gpus: []GPU{a100}, want: "GPU NVIDIA A100-SXM4-80GB is of brand nvidia", cure: `a GPU of brand "tesla",`},
		{name: "brand-unequal", expression: "brand!=nvidia", gpus: []GPU{a100}, want: "is of brand nvidia", cure: `a GPU of brand other than "nvidia",`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			facts := Facts{CUDA: tt.cuda, Driver: driver(t, "550.54.14"), GPUs: tt.gpus}
			if facts.CUDA == 0 {
				facts.CUDA = 12040
			}
			_, err := CheckRequirements([]string{"NVIDIA_REQUIRE_CUDA=" + tt.expression}, facts, false)
			var unsatisfied *UnsatisfiedError
			if !errors.As(err, &unsatisfied) {
				t.Fatalf("CheckRequirements() = %v, want an UnsatisfiedError", err)
			}
			if got := err.Error(); !strings.Contains(got, tt.want) {
				t.Errorf("Error() = %q\nlacks     %q", got, tt.want)
			}
			if got := unsatisfied.Cure(); !strings.Contains(got, tt.cure) {
				t.Errorf("Cure() = %q\nlacks    %q", got, tt.cure)
			}
			if unsatisfied.Expression != tt.expression || unsatisfied.Variable != "NVIDIA_REQUIRE_CUDA" {
				t.Errorf("error carries %q = %q", unsatisfied.Variable, unsatisfied.Expression)
			}
		})
	}
}

func TestExpressionErrorText(t *testing.T) {
	t.Parallel()
	_, err := CheckRequirements([]string{"NVIDIA_REQUIRE_\x1b[2J=cuda>=12,foo=\n1"}, Facts{CUDA: 12040}, false)
	var expression *ExpressionError
	if !errors.As(err, &expression) {
		t.Fatalf("CheckRequirements() = %v, want an ExpressionError", err)
	}
	const want = `read requirement "NVIDIA_REQUIRE_\x1b[2J": "foo=\n1": its property is none of cuda, driver, arch and brand (whole expression "cuda>=12,foo=\n1")`
	if got := err.Error(); got != want {
		t.Errorf("Error() = %s\nwant      %s", got, want)
	}
	if got := expression.Cure(); !strings.Contains(got, "NVIDIA_DISABLE_REQUIRE=true") || strings.Contains(got, "\x1b") {
		t.Errorf("Cure() = %q", got)
	}
}
