package devices

import "testing"

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		model, chip string
		class       Class
		brand       string
	}{
		{"NVIDIA A100-SXM4-80GB", "GA100", DataCenter, "nvidia"},
		{"A100-SXM4-40GB", "GA100", DataCenter, "nvidia"},
		{"NVIDIA A100X", "GA100", DataCenter, "nvidia"},
		{"NVIDIA A10G", "GA102", DataCenter, "nvidia"},
		{"NVIDIA A16", "GA107", DataCenter, "nvidia"},
		{"NVIDIA A2", "GA107", DataCenter, "nvidia"},
		{"NVIDIA A30", "GA100", DataCenter, "nvidia"},
		{"NVIDIA A40-48Q", "GA102", DataCenter, "nvidia"},
		{"NVIDIA A800-SXM4-80GB", "GA100", DataCenter, "nvidia"},
		{"NVIDIA H100 80GB HBM3", "GH100", DataCenter, "nvidia"},
		{"NVIDIA H100 NVL", "GH100", DataCenter, "nvidia"},
		{"NVIDIA H200", "GH100", DataCenter, "nvidia"},
		{"NVIDIA H20-3e", "GH100", DataCenter, "nvidia"},
		{"NVIDIA GH200 480GB", "GH100", DataCenter, "nvidia"},
		{"NVIDIA GB200", "GB100", DataCenter, "nvidia"},
		{"NVIDIA B200", "GB100", DataCenter, "nvidia"},
		{"NVIDIA B300 SXM6 AC", "GB110", DataCenter, "nvidia"},
		{"NVIDIA L4", "AD104", DataCenter, "nvidia"},
		{"NVIDIA L40S", "AD102", DataCenter, "nvidia"},
		{"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "GA100", DataCenter, "nvidia"},
		{"Tesla T4", "TU104", DataCenter, "tesla"},
		{"Tesla V100-SXM2-16GB", "GV100", DataCenter, "tesla"},
		{"NVIDIA Tesla K40m", "GK110", DataCenter, "tesla"},
		{"GRID T4-16Q", "TU104", DataCenter, "grid"},
		{"GRID V100D-32C", "GV100", DataCenter, "grid"},
		{"GRID A100DX-80C", "GA100", DataCenter, "grid"},
		{"GRID RTX6000-8Q", "TU102", Workstation, "grid"},
		{"NVIDIA vGPU", "GH100", DataCenter, "grid"},
		{"NVIDIA vGPU", "GA102", Unknown, "grid"},
		{"NVIDIA RTX A6000", "GA102", Workstation, "nvidiartx"},
		{"NVIDIA RTX A2000 12GB", "GA106", Workstation, "nvidiartx"},
		{"NVIDIA RTX A1000 Laptop GPU", "GA107", Workstation, "nvidiartx"},
		{"NVIDIA RTX A500 Laptop GPU", "GA107", Workstation, "nvidiartx"},
		{"NVIDIA RTX 6000 Ada Generation", "AD102", Workstation, "nvidiartx"},
		{"NVIDIA RTX 4000 SFF Ada Generation", "AD104", Workstation, "nvidiartx"},
		{"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "GB202", Workstation, "nvidiartx"},
		{"Quadro RTX 6000", "TU102", Workstation, "quadrortx"},
		{"NVIDIA Quadro RTX 5000 with Max-Q Design", "TU104", Workstation, "quadrortx"},
		{"Quadro RTX 6000/8000", "TU102", Workstation, "quadrortx"},
		{"Quadro P4000", "GP104", Unknown, "quadro"},
		{"Quadro GV100", "GV100", Unknown, "quadro"},
		{"NVIDIA GeForce RTX 4090", "AD102", GeForce, "geforce"},
		{"GeForce GTX 1080", "GP104", GeForce, "geforce"},
		{"NVIDIA GeForce A100", "GA102", GeForce, "geforce"},
		{"TITAN Xp", "GP102", GeForce, "titan"},
		{"NVIDIA TITAN V", "GV100", GeForce, "titan"},
		{"NVIDIA T1000", "TU117", Unknown, ""},
		{"NVIDIA T400 4GB", "TU117", Unknown, ""},
		{"NVIDIA RTX 6000", "", Unknown, ""},
		{"NVIDIA RTX A", "", Unknown, ""},
		{"NVIDIA CMP 30HX", "TU116", Unknown, ""},
		{"NVIDIA Graphics Device", "GH100", Unknown, ""},
		{"NVIDIA Thor", "GB10B", Tegra, "nvidia"},
		{"Orin (nvgpu)", "", Tegra, "nvidia"},
		{"NVS 810", "GM107", Unknown, "nvs"},
		{"NVIDIA", "", Unknown, ""},
		{"A", "", Unknown, ""},
		{"A10000", "", Unknown, ""},
		{"", "", Unknown, ""},
	} {
		t.Run(tc.model+"/"+tc.chip, func(t *testing.T) {
			t.Parallel()
			class, brand := classify(tc.model, tc.chip)
			if class != tc.class || brand != tc.brand {
				t.Errorf("classify(%q, %q) = %s, %q, want %s, %q", tc.model, tc.chip, class, brand, tc.class, tc.brand)
			}
		})
	}
}

func TestForwardCompat(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		class Class
		want  bool
	}{
		{DataCenter, true},
		{Workstation, true},
		{Tegra, true},
		{GeForce, false},
		{Unknown, false},
		{"", false},
	} {
		t.Run(string(tc.class), func(t *testing.T) {
			t.Parallel()
			if got := (GPU{Class: tc.class}).ForwardCompat(); got != tc.want {
				t.Errorf("ForwardCompat() of %q = %v, want %v", tc.class, got, tc.want)
			}
		})
	}
}

func TestBrands(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		model string
		want  []string
	}{
		{"NVIDIA GeForce RTX 4090", []string{"geforce", "geforcertx"}},
		{"NVIDIA GeForce GTX 1080", []string{"geforce"}},
		{"NVIDIA TITAN RTX", []string{"titan", "titanrtx"}},
		{"TITAN Xp", []string{"titan"}},
		{"Tesla T4", []string{"tesla"}},
		{"NVIDIA T1000", nil},
	} {
		t.Run(tc.model, func(t *testing.T) {
			t.Parallel()
			gpu := GPU{Model: tc.model}
			gpu.Class, gpu.Brand = classify(tc.model, "")
			same(t, "Brands", gpu.Brands(), tc.want)
		})
	}
}

func FuzzClassify(f *testing.F) {
	f.Add("NVIDIA A100-SXM4-80GB", "GA100")
	f.Add("RTX", "")
	f.Add("GRID GRID NVIDIA", "GH100")
	f.Add("\xff / -", "\x00")
	f.Fuzz(func(t *testing.T, model, chip string) {
		class, _ := classify(model, chip)
		switch class {
		case DataCenter, Workstation, GeForce, Tegra, Unknown:
		default:
			t.Errorf("classify(%q, %q) = %q", model, chip, class)
		}
	})
}
