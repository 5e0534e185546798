package compat

import (
	"strings"
	"testing"
)

// TestMatrix has each host branch against each CUDA with the compat package of
// that CUDA in the image. A letter is a decision: h host, f forward, m minor,
// x incompatible. Source: the documents cited in table.go, by hand.
func TestMatrix(t *testing.T) {
	t.Parallel()
	packages := []string{"450.51.06", "470.57.02", "520.61.05", "525.60.13", "535.54.03", "550.54.14", "570.26", "575.57.08", "580.65.06", "590.44.01"}
	// What the notes of these packages list; the older ones have none.
	notes := map[string][]int{
		"575.57.08": {535, 550, 560, 565, 570, 575},
		"580.65.06": {535, 550, 565, 570, 575},
		"590.44.01": {535, 550, 570, 575, 580, 590},
	}
	for _, tt := range []struct {
		host               string
		a100, notes, g3090 string
	}{
		//             CUDA 11.0 11.4 11.8 12.0 12.2 12.4 12.8 12.9 13.0 13.1
		{"450.248.02", "hfffffffff", "hffffffxxx", "hmmxxxxxxx"},
		{"470.256.02", "hhffffffff", "hhfffffxxx", "hhmxxxxxxx"},
		{"495.29.05", "hhffffffff", "hhfffffxxx", "hhmxxxxxxx"},
		{"525.147.05", "hhhhffffff", "hhhhfffmxx", "hhhhmmmmxx"},
		{"535.183.01", "hhhhhfffff", "hhhhhfffff", "hhhhhmmmxx"},
		{"550.163.01", "hhhhhhffff", "hhhhhhffff", "hhhhhhmmxx"},
		{"570.133.20", "hhhhhhhfff", "hhhhhhhfff", "hhhhhhhmxx"},
		{"580.95.05", "hhhhhhhhhf", "hhhhhhhhhf", "hhhhhhhhhm"},
	} {
		for _, run := range []struct {
			name, want string
			noted      bool
			gpu        GPU
		}{
			{"a100-without-notes", tt.a100, false, a100},
			{"a100-with-notes", tt.notes, true, a100},
			{"geforce", tt.g3090, true, rtx309},
		} {
			t.Run(tt.host+"/"+run.name, func(t *testing.T) {
				t.Parallel()
				var got strings.Builder
				for _, version := range packages {
					set := overlay(t, version)
					if list, ok := notes[version]; ok && run.noted {
						set.Note = &Note{Drivers: list}
					}
					decision := Decide(Input{
						Driver: driver(t, tt.host), Runtime: Runtime{Version: set.CUDA},
						Overlays: []Overlay{set}, GPUs: []GPU{run.gpu},
					})
					got.WriteString(map[Kind]string{KindHost: "h", KindForward: "f", KindMinor: "m", KindIncompatible: "x"}[decision.Kind])
				}
				if got.String() != run.want {
					t.Errorf("decisions = %s, want %s", got.String(), run.want)
				}
			})
		}
	}
}
