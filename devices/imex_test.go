package devices

import (
	"errors"
	"strings"
	"testing"
)

func TestIMEXNodes(t *testing.T) {
	t.Parallel()
	h := stand(t, driver(
		"node dev/nvidia-caps-imex-channels/channel0 235 0 666 0 0",
		"node dev/nvidia-caps-imex-channels/channel2047 235 2047 666 0 0",
		"file dev/nvidia-caps-imex-channels/channel5 x",
	)...)
	inv := inventory(t, h)
	for _, tc := range []struct {
		name     string
		channels []string
		err      string
		want     []string
	}{
		{"none", nil, "", nil},
		{"empty", []string{"", " "}, "", nil},
		{"two", []string{"2047", " 0 ", "0"}, "", []string{
			"/dev/nvidia-caps-imex-channels/channel2047 (c 235:2047) imex",
			"/dev/nvidia-caps-imex-channels/channel0 (c 235:0) imex",
		}},
		{"no-node", []string{"0", "2048"}, `use IMEX channel "2048": look at`, nil},
		{"not-a-node", []string{"5"}, "not a device node", nil},
		{"word", []string{"x"}, `use IMEX channel "x": not a decimal`, nil},
		{"all", []string{"all"}, "not a decimal", nil},
		{"sign", []string{"+0"}, "not a decimal", nil},
		{"hex", []string{"0x0"}, "not a decimal", nil},
		{"too-high", []string{"1048576"}, "not a decimal number below 1048576", nil},
		{"huge", []string{strings.Repeat("9", 300)}, "not a decimal", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			nodes, _, err := inv.IMEXNodes(h, tc.channels)
			var imex *IMEXError
			if errors.As(err, &imex) != (tc.err != "") || err != nil && (!strings.Contains(err.Error(), tc.err) || imex.Cure() == "") {
				t.Errorf("IMEXNodes(%q) = %v, want %q", tc.channels, err, tc.err)
			}
			same(t, "IMEXNodes", short(nodes), tc.want)
		})
	}
}

func TestIMEXNodesWithoutMajor(t *testing.T) {
	t.Parallel()
	var imex *IMEXError
	if _, _, err := (Inventory{}).IMEXNodes(Host{}, []string{"0"}); !errors.As(err, &imex) {
		t.Errorf("IMEXNodes() without a major = %v, want an IMEXError", err)
	}
}

func FuzzIMEXNodes(f *testing.F) {
	for _, seed := range []string{"0", "all", "1048576", "-1", "", "../../null"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, channel string) {
		nodes, _, err := (Inventory{}).IMEXNodes(Host{Dev: "/nonexistent"}, []string{channel})
		if len(nodes) > 0 || err == nil && strings.TrimSpace(channel) != "" {
			t.Errorf("IMEXNodes(%q) = %v, %v", channel, nodes, err)
		}
	})
}
