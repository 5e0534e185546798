package devices

import "testing"

func TestParseMIGName(t *testing.T) {
	t.Parallel()
	const uuid = "MIG-01234567-89ab-cdef-0123-456789abcdef"
	for _, tc := range []struct {
		text, parent string
		ok           bool
		want         MIGName
	}{
		{"0:1", "0", true, MIGName{Text: "0:1", Parent: -1, Position: 1, GI: -1, CI: -1}},
		{"12:0", "12", true, MIGName{Text: "12:0", Parent: -1, Position: 0, GI: -1, CI: -1}},
		{uuid, "", true, MIGName{Text: uuid, UUID: uuid, Parent: -1, Position: -1, GI: -1, CI: -1}},
		{"mig-01234567-89AB-cdef-0123-456789abcdef", "", true, MIGName{Text: "mig-01234567-89AB-cdef-0123-456789abcdef", UUID: uuid, Parent: -1, Position: -1, GI: -1, CI: -1}},
		{"MIG-" + uuidA + "/3/1", uuidA, true, MIGName{Text: "MIG-" + uuidA + "/3/1", Parent: -1, Position: -1, GI: 3, CI: 1}},
		{"0:1.0", "", false, MIGName{}},
		{"01:00.0", "", false, MIGName{}},
		{"0000:01:00.0", "", false, MIGName{}},
		{"0:", "", false, MIGName{}},
		{":0", "", false, MIGName{}},
		{"0:128", "", false, MIGName{}},
		{"0:-1", "", false, MIGName{}},
		{"a:1", "", false, MIGName{}},
		{"MIG-", "", false, MIGName{}},
		{"MIG-" + uuidA, "", false, MIGName{}},
		{"MIG-" + uuidA + "/3", "", false, MIGName{}},
		{"MIG-" + uuidA + "/3/x", "", false, MIGName{}},
		{"MIG-" + uuidA + "/3/0/0", "", false, MIGName{}},
		{"MIG-GPU-/3/0", "", false, MIGName{}},
		{"MIG-0123", "", false, MIGName{}},
		{"0", "", false, MIGName{}},
		{"", "", false, MIGName{}},
	} {
		t.Run(tc.text, func(t *testing.T) {
			t.Parallel()
			got, parent, ok := parseMIGName(tc.text)
			if ok != tc.ok || parent != tc.parent || got != tc.want {
				t.Errorf("parseMIGName(%q) = %+v, %q, %v, want %+v, %q, %v", tc.text, got, parent, ok, tc.want, tc.parent, tc.ok)
			}
		})
	}
}

func FuzzParseMIGName(f *testing.F) {
	for _, seed := range []string{"0:1", "MIG-" + uuidA[4:], "MIG-" + uuidA + "/1/0", "01:00.0", ":", "MIG-//"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, parent, ok := parseMIGName(text)
		if !ok {
			return
		}
		if _, isBus := parseBusID(text); isBus {
			t.Errorf("%q is a bus id and a MIG device", text)
		}
		forms := 0
		for _, is := range []bool{name.UUID != "", name.Position >= 0, name.GI >= 0 && name.CI >= 0} {
			if is {
				forms++
			}
		}
		if forms != 1 || (parent == "") != (name.UUID != "") {
			t.Errorf("parseMIGName(%q) = %+v, %q", text, name, parent)
		}
	})
}
