package devices

import "testing"

func TestDRINodes(t *testing.T) {
	t.Parallel()
	const pci = "sys/bus/pci/devices/"
	h := stand(t, three(
		`file `+pci+`0000:01:00.0/drm/card1/dev 226:1\n`,
		`file `+pci+`0000:01:00.0/drm/renderD129/dev 226:129\n`,
		`dir `+pci+`0000:01:00.0/drm/controlD65`,
		`dir `+pci+`0000:01:00.0/drm/card`,
		`file `+pci+`0000:41:00.0/drm/card2/dev nonsense`,
		`file `+pci+`0000:81:00.0/drm x`,
	)...)
	inv := inventory(t, h)
	for _, tc := range []struct {
		name     string
		gpus     []GPU
		nodes    []string
		links    []Link
		warnings []string
	}{
		{"none", nil, nil, nil, nil},
		{
			"one", inv.GPUs[:1],
			[]string{"/dev/dri/card1 (c 226:1) graphics", "/dev/dri/renderD129 (c 226:129) graphics"},
			[]Link{{"/dev/dri/by-path/pci-0000:01:00.0-card", "../card1"}, {"/dev/dri/by-path/pci-0000:01:00.0-render", "../renderD129"}},
			nil,
		},
		{"nonsense", inv.GPUs[1:2], nil, nil, []string{"no-dri", "no-dri"}},
		{"not-a-directory", inv.GPUs[2:], nil, nil, []string{"no-dri"}},
		{"no-sysfs", []GPU{{BusID: "0000:99:00.0"}}, nil, nil, []string{"no-dri"}},
		{"no-bus-id", []GPU{{}}, nil, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			nodes, links, warnings := DRINodes(h, tc.gpus)
			same(t, "nodes", short(nodes), tc.nodes)
			same(t, "links", links, tc.links)
			same(t, "warnings", codes(warnings), tc.warnings)
		})
	}
}

func TestDRINodesFromHost(t *testing.T) {
	t.Parallel()
	h := stand(t, three(
		"dir sys/bus/pci/devices/0000:01:00.0/drm/renderD128",
		"node dev/dri/renderD128 226 128 660 0 105",
	)...)
	nodes, _, warnings := DRINodes(h, inventory(t, h).GPUs[:1])
	same(t, "nodes", nodes, []Node{{"/dev/dri/renderD128", h.Dev + "/dri/renderD128", 226, 128, 0o660, 0, 105, "graphics"}})
	same(t, "warnings", codes(warnings), []string(nil))
}

func FuzzParseDevNumbers(f *testing.F) {
	for _, seed := range []string{"226:1\n", "226:", ":", "4096:0", "0:1048576", "1:2:3"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		major, minor, err := parseDevNumbers(data)
		if major > maxMajor || minor > maxDevMinor || err != nil && (major != 0 || minor != 0) {
			t.Errorf("parseDevNumbers(%q) = %d, %d, %v", data, major, minor, err)
		}
	})
}
