package devices

import "testing"

func TestFeatureNodes(t *testing.T) {
	t.Parallel()
	h := stand(t,
		"node dev/nvidia-fs0 504 0 666 0 0", "node dev/nvidia-fs10 504 10 666 0 0", "node dev/nvidia-fs2 504 2 666 0 0",
		"node dev/nvidia-nvswitchctl 511 255 666 0 0", "node dev/nvidia-nvswitch0 511 0 666 0 0",
		"file dev/nvidia-nvswitch1 x", "node dev/nvidia-nvswitch-odd 511 9 666 0 0",
		"node dev/infiniband/uverbs0 231 192 666 0 0",
	)
	other := stand(t,
		"node dev/gdrdrv 503 0 666 0 0", "node dev/nvidia-fs0 1 1 600 0 0",
		"node dev/infiniband/rdma_cm 10 59 666 0 0",
	)
	for _, tc := range []struct {
		feature  Feature
		more     []string
		warnings []string
		want     []string
	}{
		{GDS, nil, nil, []string{"/dev/nvidia-fs0 (c 504:0) gds", "/dev/nvidia-fs2 (c 504:2) gds", "/dev/nvidia-fs10 (c 504:10) gds"}},
		{NVSwitch, nil, []string{"no-nvswitch"}, []string{"/dev/nvidia-nvswitchctl (c 511:255) nvswitch", "/dev/nvidia-nvswitch0 (c 511:0) nvswitch"}},
		{MOFED, []string{other.Dev}, nil, []string{"/dev/infiniband/uverbs0 (c 231:192) mofed", "/dev/infiniband/rdma_cm (c 10:59) mofed"}},
		{MOFED, nil, []string{"no-mofed"}, []string{"/dev/infiniband/uverbs0 (c 231:192) mofed"}},
		{GDRCopy, nil, []string{"no-gdrcopy"}, nil},
		{GDRCopy, []string{other.Dev}, nil, []string{"/dev/gdrdrv (c 503:0) gdrcopy"}},
		{GDS, []string{other.Dev}, nil, []string{"/dev/nvidia-fs0 (c 504:0) gds", "/dev/nvidia-fs2 (c 504:2) gds", "/dev/nvidia-fs10 (c 504:10) gds"}},
		{"nonsense", nil, []string{"no-nonsense"}, nil},
	} {
		t.Run(string(tc.feature), func(t *testing.T) {
			t.Parallel()
			nodes, warnings := FeatureNodes(h, tc.feature, tc.more...)
			same(t, "FeatureNodes", short(nodes), tc.want)
			same(t, "warnings", codes(warnings), tc.warnings)
		})
	}
}

func TestFeatureNodesUnreadable(t *testing.T) {
	t.Parallel()
	h := stand(t, "file dev x")
	nodes, warnings := FeatureNodes(h, GDS)
	same(t, "FeatureNodes", nodes, []Node(nil))
	same(t, "warnings", codes(warnings), []string{"no-gds"})
}
