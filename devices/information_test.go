package devices

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseInformation(t *testing.T) {
	t.Parallel()
	none := information{minor: NoMinor}
	for _, tc := range []struct {
		name, data string
		want       information
	}{
		{"real", information4("NVIDIA A100-SXM4-80GB", uuidA, "0000:01:00.0", "3"), information{model: "NVIDIA A100-SXM4-80GB", uuid: uuidA, minor: 3}},
		{"question-marks", "GPU UUID: \t GPU-????????-????-????-????-????????????\nDevice Minor: \t 0\n", information{minor: 0}},
		{"not-available", "Model: N/A\nGPU UUID: N/A\nDevice Minor: N/A\nGPU Excluded: N/A\n", none},
		{"excluded", "Device Minor: 1\nGPU Excluded:\t Yes\n", information{minor: 1, excluded: true}},
		{"colon-in-model", "Model: NVIDIA X: Y\n", information{model: "NVIDIA X: Y", minor: NoMinor}},
		{"control-node", "Device Minor: 255\n", none},
		{"modeset-node", "Device Minor: 254\n", none},
		{"highest-minor", "Device Minor: 247\n", information{minor: 247}},
		{"negative-minor", "Device Minor: -1\n", none},
		{"hex-minor", "Device Minor: 0x1\n", none},
		{"escape-in-model", "Model: a\x1b[31mb\xff\n", information{model: "a?[31mb?", minor: NoMinor}},
		{"no-labels", strings.Repeat("x", 4096), none},
		{"empty", "", none},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := parseInformation([]byte(tc.data))
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(information{})); diff != "" {
				t.Errorf("parseInformation (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUUIDPrefix(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       int
	}{
		{"full", uuidA[4:], 32},
		{"upper", strings.ToUpper(uuidA[4:]), 32},
		{"eight", "5d0f1e0a", 8},
		{"eight-and-dash", "5d0f1e0a-", 8},
		{"nine", "5d0f1e0a-1", 9},
		{"dash-missing", "5d0f1e0a1", -1},
		{"dash-early", "5d0f-", -1},
		{"not-hex", "5d0fg", -1},
		{"at-sign", "5d0f@", -1},
		{"too-long", uuidA[4:] + "0", -1},
		{"empty", "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := uuidPrefix(tc.text); got != tc.want {
				t.Errorf("uuidPrefix(%q) = %d, want %d", tc.text, got, tc.want)
			}
		})
	}
}

func FuzzParseInformation(f *testing.F) {
	f.Add([]byte(information4("NVIDIA A100-SXM4-80GB", uuidA, "0000:01:00.0", "0")))
	f.Add([]byte("Model:\x00\nGPU UUID: GPU-\nDevice Minor: 99999999999999999999\n"))
	f.Add([]byte(":::\n:\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := parseInformation(data)
		if got.minor != NoMinor && (got.minor < 0 || got.minor > maxMinor) {
			t.Errorf("minor %d out of range", got.minor)
		}
		if got.uuid != "" && !fullUUID(got.uuid) {
			t.Errorf("uuid %q is none", got.uuid)
		}
		if !utf8.ValidString(got.model) || strings.ContainsAny(got.model, "\n\x1b\x00") {
			t.Errorf("model %q is not printable", got.model)
		}
	})
}
