package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPrintWays(t *testing.T) {
	t.Parallel()
	ways := []way{
		{name: "plain", times: []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond}},
		{name: "gpu-hook", times: []time.Duration{150 * time.Millisecond, 220 * time.Millisecond, 303 * time.Millisecond}},
	}
	want := `docker run, ms                 median  fastest  slowest
plain                          200.00   100.00   300.00
gpu-hook                       220.00   150.00   303.00
gpu-hook / plain                 1.10     1.01     1.50
gpu-hook - plain, ms            20.00     3.00    50.00
`
	peer := way{name: "CDI", times: []time.Duration{200 * time.Millisecond, 220 * time.Millisecond, 606 * time.Millisecond}}
	for _, tt := range []struct {
		name string
		ways []way
		want string
	}{
		{"two", ways, want},
		{"with a peer", []way{ways[0], ways[1], peer}, `docker run, ms                 median  fastest  slowest
plain                          200.00   100.00   300.00
gpu-hook                       220.00   150.00   303.00
CDI                            220.00   200.00   606.00
gpu-hook / plain                 1.10     1.01     1.50
gpu-hook - plain, ms            20.00     3.00    50.00
CDI / plain                      2.00     1.10     2.02
CDI - plain, ms                100.00    20.00   306.00
gpu-hook / CDI                   0.75     0.50     1.00
gpu-hook - CDI, ms             -50.00  -303.00     0.00
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			if got := printWays(&out, tt.ways); got != 1.1 {
				t.Errorf("the ratio is %v, want 1.1", got)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("printWays (-want +got):\n%s", diff)
			}
		})
	}
}
