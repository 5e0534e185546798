package compat

import "testing"

func TestParseCUDA(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       CUDA // 0: an error
	}{
		{"two", "12.4", 12040},
		{"three", "12.4.127", 12040},
		{"four", "8.0.61.2", 8000},
		{"one", "12", 12000},
		{"v", "v9.1.2-rc1", 9010},
		{"prerelease-of-major", "12-rc1", 12000},
		{"build", "11.8+cu", 11080},
		{"debian", "11.8.89~11.8.0-5", 11080},
		{"package-name", "12-4", 12040},
		{"integer", "11040", 11040},
		{"integer-old", "9020", 9020},
		{"two-digit-minor", "12.10", 12100},
		{"spaces", " 12.4\n", 12040},
		{"leading-zero", "012.04", 12040},
		{"empty", "", 0},
		{"v-only", "v", 0},
		{"word", "latest", 0},
		{"cu", "cu118", 0},
		{"ambiguous", "118", 0},
		{"negative", "-12.4", 0},
		{"dot", "12.", 0},
		{"dots", "12..4", 0},
		{"dash", "12-", 0},
		{"letters", "12.x", 0},
		{"letters-third", "12.4.x", 0},
		{"after", "12.4 beta", 0},
		{"minor-too-large", "12.100", 0},
		{"major-zero", "0.9", 0},
		{"huge", "99999999999999999999.1", 0},
		{"integer-odd", "12041", 0},
		{"nul", "12.4\x00", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseCUDA(tt.text)
			if got != tt.want || (err == nil) != (tt.want != 0) {
				t.Errorf("ParseCUDA(%q) = %d, %v; want %d", tt.text, got, err, tt.want)
			}
		})
	}
}

func TestCUDAString(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		version CUDA
		want    string
	}{
		{"plain", 12040, "12.4"},
		{"zero-minor", 13000, "13.0"},
		{"two-digits", MakeCUDA(12, 10), "12.10"},
		{"open", 13040 + newerMark, "13.4+"},
		{"none", 0, "unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.version.String(); got != tt.want {
				t.Errorf("String() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCUDARuns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		have, need CUDA
		want       bool
	}{
		{"same", 12040, 12040, true},
		{"backward", 12040, 9000, true},
		{"newer-minor", 12040, 12050, false},
		{"newer-major", 12040, 13000, false},
		{"minor-ten", MakeCUDA(12, 10), 12090, true},
		{"open", 13041, 15000, true},
		{"none", 0, 7000, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.have.Runs(tt.need); got != tt.want {
				t.Errorf("%d.Runs(%d) = %t, want %t", tt.have, tt.need, got, tt.want)
			}
		})
	}
}

func FuzzParseCUDA(f *testing.F) {
	for _, seed := range []string{"12.4", "v9.1.2-rc1", "11040", "12-4", "12..", "", "99.99", "1+", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseCUDA(text)
		if err != nil {
			if got != 0 {
				t.Fatalf("ParseCUDA(%q) = %d beside error %v", text, got, err)
			}
			return
		}
		if !got.Known() || got.Open() || got.Major() < 1 || got.Minor() > maxCUDAMinor {
			t.Fatalf("ParseCUDA(%q) = %d", text, got)
		}
		if again, err := ParseCUDA(got.String()); again != got || err != nil {
			t.Fatalf("ParseCUDA(%q) = %d, %v; want %d as from %q", got, again, err, got, text)
		}
	})
}
