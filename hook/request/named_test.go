package request

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-hook/gpu-hook/hook/config"
)

// TestNamed: what a CDI specification names goes before everything that an
// image or a pod can say, whatever may ask.
func TestNamed(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.AcceptEnv = config.EnvNever
	in := Input{
		Env: Env{"NVIDIA_VISIBLE_DEVICES=void"}, Annotations: map[string]string{"gpu-hook/devices": "all"},
		Named: []string{"GPU-1", "nvidia.com/gpu=2", "GPU-1"}, Config: c,
	}
	got, _, err := Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"GPU-1", "2"}, got.Devices); diff != "" || got.Source != "cdi" || !got.UserAsked {
		t.Errorf("Parse = %+v (-want +got):\n%s", got, diff)
	}
	in.Named = []string{"all", "0"}
	if got, _, err = Parse(in); err != nil || cmp.Diff([]string{"all"}, got.Devices) != "" {
		t.Errorf("Parse of all = %+v, %v", got, err)
	}
	in.Named, in.Annotations = nil, nil
	if _, _, err = Parse(in); !errors.Is(err, ErrNotRequested) {
		t.Errorf("Parse without names = %v", err)
	}
}
