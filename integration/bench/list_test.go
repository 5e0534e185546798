package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPhasesOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, line string
		want       map[string]time.Duration
	}{
		{
			name: "phases", line: `{"tree":"1100us","device nodes":"80us","msg":"where the time went","time":"2026","pid":7,"stage":"prestart"}`,
			want: map[string]time.Duration{"tree": 1100 * time.Microsecond, "device nodes": 80 * time.Microsecond},
		},
		{name: "another line", line: `{"msg":"done","tree":"1us"}`},
		{name: "no JSON", line: "nonsense"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, phasesOf(tt.line)); diff != "" {
				t.Errorf("phasesOf (-want +got):\n%s", diff)
			}
		})
	}
}
