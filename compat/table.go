package compat

import "fmt"

// branchRow says which CUDA version every driver of a branch supports.
// Within one branch the version that libcuda reports does not change.
type branchRow struct {
	branch int
	cuda   CUDA
	// first is the oldest driver of the branch that a toolkit came with.
	first string
}

// branches returns the driver branches in ascending order, as of 2026-09-30.
// A new branch is one more line at the end; a branch that has no line counts
// as the one before it, one past the end as newer than every CUDA here.
//
// Source up to CUDA 13.2: "CUDA Toolkit Release Notes", table "CUDA Toolkit
// and Corresponding Driver Versions" (docs.nvidia.com/cuda/
// cuda-toolkit-release-notes, the edition of 13.2 Update 2). CUDA 12.7 had no
// toolkit, only the driver that reports it.
//
// Source for CUDA 13.3: the name of NVIDIA's own installer,
// cuda_13.3.0_610.43.02_linux.run, and nvidia-smi's report "610.43.02 ...
// CUDA UMD Version: 13.3" (sgl-project/sglang issue 27487, 2026-06-07).
// Source for CUDA 13.4: nvidia-smi's report "615.71.09 ... CUDA UMD Version:
// 13.4" and distributions that ship the two as a pair (AOSC-Dev/aosc-os-abbs
// pull request 17616 and stackhpc/ansible-slurm-appliance pull request 1033,
// both 2026-09).
//
// CUDA 13.5 exists (release notes for it were published) but no readable
// source named its driver branch: its line is missing, and a driver past 615
// counts as newer than 13.4.
func branches() []branchRow {
	return []branchRow{
		{346, 7000, "346.46"},
		{352, 7050, "352.31"},
		{367, 8000, "367.48"},
		{384, 9000, "384.81"},
		{390, 9010, "390.46"},
		{396, 9020, "396.26"},
		{410, 10000, "410.48"},
		{418, 10010, "418.39"},
		{440, 10020, "440.33"},
		{450, 11000, "450.36.06"},
		{455, 11010, "455.23"},
		{460, 11020, "460.27.03"},
		{465, 11030, "465.19.01"},
		{470, 11040, "470.42.01"},
		{495, 11050, "495.29.05"},
		{510, 11060, "510.39.01"},
		{515, 11070, "515.43.04"},
		{520, 11080, "520.61.05"},
		{525, 12000, "525.60.13"},
		{530, 12010, "530.30.02"},
		{535, 12020, "535.54.03"},
		{545, 12030, "545.23.06"},
		{550, 12040, "550.54.14"},
		{555, 12050, "555.42.02"},
		{560, 12060, "560.28.03"},
		{565, 12070, "565.57.01"},
		{570, 12080, "570.26"},
		{575, 12090, "575.51.03"},
		{580, 13000, "580.65.06"},
		{590, 13010, "590.44.01"},
		{595, 13020, "595.45.04"},
		{610, 13030, "610.43.02"},
		{615, 13040, "615.71.09"},
	}
}

// minimumRow is the oldest driver that runs every CUDA of a major version.
type minimumRow struct {
	major  int
	driver Driver
}

// minimums returns the minimum drivers for minor-version compatibility, which
// began with CUDA 11.
//
// Source: "CUDA Compatibility", chapter "Minor Version Compatibility", table 1
// and its note on 450.80.02 (docs.nvidia.com/deploy/cuda-compatibility/
// minor-version-compatibility.html).
func minimums() []minimumRow {
	return []minimumRow{
		{11, Driver{text: "450.80.02", parts: [maxDriverParts]int{450, 80, 2}}},
		{12, Driver{text: "525", parts: [maxDriverParts]int{525}}},
		{13, Driver{text: "580", parts: [maxDriverParts]int{580}}},
	}
}

// Match says how a driver was found in the branch table.
type Match int

// How a driver was found in the branch table.
const (
	// MatchNone means that the driver is not known or older than the table.
	MatchNone Match = iota
	// MatchBranch means that its branch has a line.
	MatchBranch
	// MatchBelow means that its branch lies between two lines and counts as
	// the lower one.
	MatchBelow
	// MatchNewer means that its branch is newer than the table.
	MatchNewer
)

// CUDA returns the newest CUDA version that the driver supports and how it was
// found. A driver newer than the table gets an open version (see [CUDA]), one
// older than the table or unknown gets 0.
func (d Driver) CUDA() (CUDA, Match) {
	rows := branches()
	for i := len(rows) - 1; i >= 0; i-- {
		switch {
		case d.Branch() == rows[i].branch:
			return rows[i].cuda, MatchBranch
		case d.Branch() > rows[i].branch && i == len(rows)-1:
			return rows[i].cuda + newerMark, MatchNewer
		case d.Branch() > rows[i].branch:
			return rows[i].cuda, MatchBelow
		}
	}
	return 0, MatchNone
}

// MinimumDriver returns the oldest driver that runs programs of every CUDA
// version of a major release, by minor-version compatibility. There is none
// for majors before 11, nor for those newer than the table.
func MinimumDriver(major int) (Driver, bool) {
	for _, row := range minimums() {
		if row.major == major {
			return row.driver, true
		}
	}
	return Driver{}, false
}

// driverFor says in words which driver supports a CUDA version by itself.
func driverFor(need CUDA) string {
	for _, row := range branches() {
		if row.cuda >= need {
			return fmt.Sprintf("driver %d or newer", row.branch)
		}
	}
	return fmt.Sprintf("a driver that supports CUDA %s", need)
}
