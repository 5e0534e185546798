package devices

import (
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseBusID(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		ok         bool
		want       busAddress
	}{
		{"long", "00000000:01:00.0", true, busAddress{0, 1, 0, 0}},
		{"four-digit", "0000:01:00.0", true, busAddress{0, 1, 0, 0}},
		{"short", "01:00.0", true, busAddress{0, 1, 0, 0}},
		{"shortest", "1:0.0", true, busAddress{0, 1, 0, 0}},
		{"wide-domain", "00000001:0a:1f.7", true, busAddress{1, 10, 31, 7}},
		{"five-digit-domain", "10000:E1:00.0", true, busAddress{0x10000, 0xe1, 0, 0}},
		{"mig", "0:1", false, busAddress{}},
		{"no-function", "0000:01:00", false, busAddress{}},
		{"function-8", "01:00.8", false, busAddress{}},
		{"device-20", "01:20.0", false, busAddress{}},
		{"sign", "01:+0.0", false, busAddress{}},
		{"blank", " 01:00.0", false, busAddress{}},
		{"underscore", "0_1:00.0", false, busAddress{}},
		{"nine-digits", "000000000:01:00.0", false, busAddress{}},
		{"four-fields", "0:0:01:00.0", false, busAddress{}},
		{"empty-fields", "::.0", false, busAddress{}},
		{"empty", "", false, busAddress{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, ok := parseBusID(tc.text)
			if ok != tc.ok || got != tc.want {
				t.Errorf("parseBusID(%q) = %v, %v, want %v, %v", tc.text, got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestBusOrder(t *testing.T) {
	t.Parallel()
	names := []string{"10000:01:00.0", "0000:81:00.0", "0000:09:00.1", "0001:00:00.0", "0000:09:00.0", "0000:09:01.0"}
	sort.Slice(names, func(i, j int) bool {
		a, _ := parseBusID(names[i])
		b, _ := parseBusID(names[j])
		return a.before(b)
	})
	want := []string{"0000:09:00.0", "0000:09:00.1", "0000:09:01.0", "0000:81:00.0", "0001:00:00.0", "10000:01:00.0"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func FuzzParseBusID(f *testing.F) {
	for _, seed := range []string{"00000000:01:00.0", "01:00.0", "0:1", "", "..", "::"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, ok := parseBusID(text)
		if !ok {
			if at != (busAddress{}) {
				t.Errorf("parseBusID(%q) = %v without ok", text, at)
			}
			return
		}
		if again, ok := parseBusID(at.sysfs()); !ok || again != at {
			t.Errorf("parseBusID(%q) = %v, and of its sysfs name %v, %v", text, at, again, ok)
		}
	})
}
