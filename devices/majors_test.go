package devices

import (
	"strings"
	"testing"
)

func TestParseMajors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, data string
		want       []Major
	}{
		{"real", procDevices, []Major{
			{"mem", 1},
			{"nvidia", 195},
			{"nvidiactl", 195},
			{"nvidia-caps", 237},
			{"nvidia-caps-imex-channels", 235},
			{"nvidia-uvm", 510},
		}},
		{"old-name", "Character devices:\n195 nvidia-frontend\n", []Major{{"nvidia-frontend", 195}}},
		{"block-only", "Block devices:\n195 nvidia\n", nil},
		{"no-heading", "195 nvidia\n", nil},
		{"nonsense", "Character devices:\nx y\n99999 z\n-1 a\n12\n\n 13 b\n", []Major{{"b", 13}}},
		{"empty", "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			same(t, "parseMajors", parseMajors([]byte(tc.data)), tc.want)
		})
	}
}

func TestMajor(t *testing.T) {
	t.Parallel()
	inv := Inventory{Majors: parseMajors([]byte(procDevices))}
	for _, tc := range []struct {
		name string
		ok   bool
		want uint32
	}{
		{"nvidia-uvm", true, 510},
		{"nvidia-caps", true, 237},
		{"nvidia-nvswitch", false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := inv.Major(tc.name); got != tc.want || ok != tc.ok {
				t.Errorf("Major(%q) = %d, %v, want %d, %v", tc.name, got, ok, tc.want, tc.ok)
			}
		})
	}
}

func FuzzParseMajors(f *testing.F) {
	f.Add([]byte(procDevices))
	f.Add([]byte("Character devices:\n4096 x\n4095 \n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, m := range parseMajors(data) {
			if m.Number > maxMajor || strings.Contains(m.Name, "\n") {
				t.Errorf("parseMajors(%q) has %v", data, m)
			}
		}
	})
}
