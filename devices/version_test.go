package devices

import (
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, data string
		open       bool
		want       string
	}{
		{"closed", closedVersion, false, "535.309.01"},
		{"open", openVersion, true, "550.163.01"},
		{"two-groups", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  455.23  Wed\n", false, "455.23"},
		{"arm", "NVRM version: NVIDIA UNIX aarch64 Kernel Module  470.256.02  Thu\n", false, "470.256.02"},
		{"compiler-first", "GCC version:  gcc version 12.2.0\n" + openVersion, true, "550.163.01"},
		{"no-line-feed", "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.65.06", true, "580.65.06"},
		{"compiler-only", "GCC version:  gcc version 12.2.0\n", false, ""},
		{"empty", "", false, ""},
		{"no-version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module\n", false, ""},
		{"one-group", "NVRM version: NVIDIA 535\n", false, ""},
		{"bad-group", "NVRM version: NVIDIA 535.30x.01\n", false, ""},
		{"huge-group", "NVRM version: NVIDIA 535." + strings.Repeat("1", 99) + "\n", false, ""},
		{"binary", "\x00\xff\x7fELF", false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			version, open, err := parseVersion([]byte(tc.data))
			if version != tc.want || open != tc.open || (err == nil) != (tc.want != "") {
				t.Errorf("parseVersion(%q) = %q, %v, %v, want %q, %v", tc.data, version, open, err, tc.want, tc.open)
			}
		})
	}
}

func FuzzParseVersion(f *testing.F) {
	for _, seed := range []string{closedVersion, openVersion, "", "NVRM version: 1.2.3.4.5", "NVRM version:"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		version, open, err := parseVersion(data)
		if (version == "") != (err != nil) || open && err != nil {
			t.Errorf("parseVersion(%q) = %q, %v, %v", data, version, open, err)
		}
		if strings.Trim(version, "0123456789.") != "" || len(version) > 19 {
			t.Errorf("parseVersion(%q) = %q, not a version", data, version)
		}
	})
}
