package devices

import "testing"

func TestParseParams(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, data string
		want       Params
	}{
		{"real", params, Params{Modify: true, GID: 44, Mode: 0o660}},
		{"defaults", "", Params{Modify: true, Mode: 0o666}},
		{"decimal-mode", "DeviceFileMode: 438\n", Params{Modify: true, Mode: 0o666}},
		{"no-modify", "ModifyDeviceFiles: 0\nDeviceFileUID: 7\n", Params{UID: 7, Mode: 0o666}},
		{"mode-too-high", "DeviceFileMode: 4095\n", Params{Modify: true, Mode: 0o666}},
		{"negative", "DeviceFileUID: -1\nDeviceFileGID: -1\n", Params{Modify: true, Mode: 0o666}},
		{"nonsense", "DeviceFileMode\nDeviceFileMode: rw\n\x00:\xff\n", Params{Modify: true, Mode: 0o666}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			same(t, "parseParams", parseParams([]byte(tc.data)), tc.want)
		})
	}
}

func FuzzParseParams(f *testing.F) {
	f.Add([]byte(params))
	f.Add([]byte("DeviceFileMode: 511\nDeviceFileMode: 512\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p := parseParams(data); p.Mode > 0o777 {
			t.Errorf("parseParams(%q) has mode %o", data, p.Mode)
		}
	})
}
