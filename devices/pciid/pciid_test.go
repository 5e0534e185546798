package pciid

import (
	"slices"
	"strings"
	"testing"
)

// noCapability lists the chips that no document gives a capability to. Move a
// chip out of here when one does.
var noCapability = []string{"GB120"}

func TestChipAndCapability(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		device     uint16
		chip, want string
	}{
		{"a100", 0x20b2, "GA100", "8.0"},
		{"a100-80", 0x20b5, "GA100", "8.0"},
		{"h100-sxm", 0x2330, "GH100", "9.0"},
		{"l4", 0x27b8, "AD104", "8.9"},
		{"l40", 0x26b5, "AD102", "8.9"},
		{"t4", 0x1eb8, "TU104", "7.5"},
		{"v100", 0x1db1, "GV100", "7.0"},
		{"p100", 0x15f8, "GP100", "6.0"},
		{"gtx-1080", 0x1b80, "GP104", "6.1"},
		{"m60", 0x13f2, "GM204", "5.2"},
		{"k80", 0x102d, "GK210", "3.7"},
		{"k40c", 0x1024, "GK180", "3.5"},
		{"k520", 0x118a, "GK104", "3.0"},
		{"rtx-4090", 0x2684, "AD102", "8.9"},
		{"rtx-5090", 0x2b85, "GB202", "12.0"},
		{"b200", 0x2901, "GB100", "10.0"},
		{"b300", 0x3182, "GB110", "10.3"},
		{"thor", 0x2b00, "GB10B", "11.0"},
		{"gb10", 0x2e12, "GB20B", "12.1"},
		{"rubin", 0x3041, "GR100", "10.7"},
		{"stepping-b", 0x1023, "GK110", "3.5"},
		{"nvswitch", 0x22a3, "", ""},
		{"audio", 0x22ba, "", ""},
		{"fermi", 0x06d1, "", ""},
		{"lowest", 0x0000, "", ""},
		{"highest", 0xffff, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			chip := Chip(tc.device)
			if got := ComputeCapability(chip); chip != tc.chip || got != tc.want {
				t.Errorf("Chip(%#04x) = %q, capability %q, want %q, %q", tc.device, chip, got, tc.chip, tc.want)
			}
		})
	}
}

func TestUnknownChipHasNoCapability(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "GA999", "ga100"} {
		if got := ComputeCapability(name); got != "" {
			t.Errorf("ComputeCapability(%q) = %q, want none", name, got)
		}
	}
}

// TestTableIsSorted is what the binary search rests on.
func TestTableIsSorted(t *testing.T) {
	t.Parallel()
	for i := 1; i < len(table); i++ {
		if table[i-1].device >= table[i].device {
			t.Errorf("table[%d] = %#04x is not above table[%d] = %#04x", i, table[i].device, i-1, table[i-1].device)
		}
	}
	if len(table) < 800 {
		t.Errorf("len(table) = %d, want at least 800", len(table))
	}
	if !strings.HasPrefix(tableSource, "pci.ids 20") {
		t.Errorf("tableSource = %q, want the version of pci.ids", tableSource)
	}
}

// TestTablesAgree fails when a chip has no capability and is not excused, when
// an excuse is out of date, when a chip has no device, and when capabilities of
// one family run across another's.
func TestTablesAgree(t *testing.T) {
	t.Parallel()
	used := make([]bool, len(chips))
	for _, e := range table {
		if int(e.chip) >= len(chips) {
			t.Fatalf("device %#04x has chip %d of %d", e.device, e.chip, len(chips))
		}
		used[e.chip] = true
	}
	seen := map[string]bool{}
	for i, c := range chips {
		if c.name == "" || seen[c.name] {
			t.Errorf("chips[%d] = %q is empty or there twice", i, c.name)
		}
		seen[c.name] = true
		if !used[i] {
			t.Errorf("chip %s has no device", c.name)
		}
		if excused := slices.Contains(noCapability, c.name); (c.capability == "") != excused {
			t.Errorf("chip %s has capability %q, excused: %v", c.name, c.capability, excused)
		}
		if want := families[c.name[:2]]; c.capability != "" && !slices.Contains(want, strings.Split(c.capability, ".")[0]) {
			t.Errorf("chip %s has capability %s, want one of major %v", c.name, c.capability, want)
		}
	}
	for _, name := range noCapability {
		if !seen[name] {
			t.Errorf("excused chip %s is not in the table", name)
		}
	}
}

// families maps the beginning of a chip's name to the majors it may have.
var families = map[string][]string{
	"GK": {"3"},
	"GM": {"5"},
	"GP": {"6"},
	"GV": {"7"},
	"TU": {"7"},
	"GA": {"8"},
	"AD": {"8"},
	"GH": {"9"},
	"GB": {"10", "11", "12"},
	"GR": {"10"},
}

func FuzzChip(f *testing.F) {
	for _, device := range []uint16{0, 0x20b2, 0x2b85, 0xffff} {
		f.Add(device)
	}
	f.Fuzz(func(t *testing.T, device uint16) {
		chip := Chip(device)
		if chip == "" && ComputeCapability(chip) != "" {
			t.Errorf("unknown device %#04x has a capability", device)
		}
	})
}

func BenchmarkChip(b *testing.B) {
	for b.Loop() {
		ComputeCapability(Chip(0x20b2))
	}
}
