package compat

import "testing"

// The tables must not contradict each other or themselves.
func TestTablesAgree(t *testing.T) {
	t.Parallel()
	rows := branches()
	majors := map[int]bool{}
	for i, row := range rows {
		first, err := ParseDriver(row.first)
		if err != nil || first.Branch() != row.branch {
			t.Errorf("row %d: first driver %q is not of branch %d (%v)", i, row.first, row.branch, err)
		}
		if parsed, err := ParseCUDA(row.cuda.String()); err != nil || parsed != row.cuda {
			t.Errorf("row %d: CUDA %d is no plain version (%v)", i, row.cuda, err)
		}
		if i > 0 && (row.branch <= rows[i-1].branch || row.cuda <= rows[i-1].cuda) {
			t.Errorf("row %d (%d, %s) does not follow (%d, %s)", i, row.branch, row.cuda, rows[i-1].branch, rows[i-1].cuda)
		}
		majors[row.cuda.Major()] = true
	}
	for major := range majors {
		minimum, ok := MinimumDriver(major)
		if ok != (major >= 11) {
			t.Errorf("MinimumDriver(%d) = %s, %t: minor-version compatibility began with CUDA 11", major, minimum, ok)
		}
		if !ok {
			continue
		}
		if parsed := driver(t, minimum.String()); !parsed.Equal(minimum) {
			t.Errorf("minimum of CUDA %d: text %q and number %v differ", major, minimum, minimum.parts)
		}
		supports, match := minimum.CUDA()
		if match != MatchBranch || supports != MakeCUDA(major, 0) {
			t.Errorf("minimum %s of CUDA %d supports CUDA %s: want the branch of %d.0", minimum, major, supports, major)
		}
	}
	for _, row := range minimums() {
		if !majors[row.major] {
			t.Errorf("CUDA %d has a minimum driver but no branch", row.major)
		}
	}
}

func TestDriverCUDA(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, driver string
		want         CUDA
		match        Match
	}{
		{"first", "346.46", 7000, MatchBranch},
		{"last", "615.71.09", 13040, MatchBranch},
		{"issue-13.3", "610.43.02", 13030, MatchBranch},
		{"legacy-390", "390.157", 9010, MatchBranch},
		{"legacy-384", "384.130", 9000, MatchBranch},
		{"tesla-418", "418.226.00", 10010, MatchBranch},
		{"tesla-440", "440.118.02", 10020, MatchBranch},
		{"lts-450", "450.248.02", 11000, MatchBranch},
		{"lts-460", "460.106.00", 11020, MatchBranch},
		{"lts-470", "470.256.02", 11040, MatchBranch},
		{"production-550", "550.163.01", 12040, MatchBranch},
		{"lts-580", "580.105.08", 13000, MatchBranch},
		{"375-between", "375.26", 8000, MatchBelow},
		{"387-between", "387.26", 9000, MatchBelow},
		{"430-between", "430.64", 10010, MatchBelow},
		{"435-between", "435.21", 10010, MatchBelow},
		{"600-between", "600.10", 13020, MatchBelow},
		{"newer", "620.10.01", 13040 + newerMark, MatchNewer},
		{"much-newer", "999.1", 13040 + newerMark, MatchNewer},
		{"older", "340.108", 0, MatchNone},
		{"oldest", "304.137", 0, MatchNone},
		{"unknown", "", 0, MatchNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, match := driver(t, tt.driver).CUDA(); got != tt.want || match != tt.match {
				t.Errorf("CUDA() of %s = %s (%d), %d; want %s, %d", tt.driver, got, got, match, tt.want, tt.match)
			}
		})
	}
}

func TestMinimumDriver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		major int
		want  string
	}{
		{"before", 10, ""},
		{"11", 11, "450.80.02"},
		{"12", 12, "525"},
		{"13", 13, "580"},
		{"after", 14, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := MinimumDriver(tt.major)
			if !got.Equal(driver(t, tt.want)) || ok != (tt.want != "") {
				t.Errorf("MinimumDriver(%d) = %s, %t; want %q", tt.major, got, ok, tt.want)
			}
		})
	}
}

func TestDriverFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		need CUDA
		want string
	}{
		{"row", 12040, "driver 550 or newer"},
		{"between", MakeCUDA(10, 3), "driver 450 or newer"},
		{"old", MakeCUDA(6, 5), "driver 346 or newer"},
		{"unknown", MakeCUDA(14, 0), "a driver that supports CUDA 14.0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := driverFor(tt.need); got != tt.want {
				t.Errorf("driverFor(%s) = %q, want %q", tt.need, got, tt.want)
			}
		})
	}
}
