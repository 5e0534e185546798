package compat

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// memberRow says under which SONAME a library of a cuda-compat package is
// loaded. Libraries that have no row carry their version in the SONAME.
type memberRow struct {
	stem, soname string
	// since is the first branch whose package must have it; 0 if it may lack.
	since int
}

// memberRows returns the known libraries. Sources: the package contents that
// NVIDIA's forward-compatibility guide lists, and the SONAMEs of the driver's
// own files in Debian's packages of the branches 450 to 550.
func memberRows() []memberRow {
	return []memberRow{
		{"libcuda", "libcuda.so.1", 1},
		{"libnvidia-ptxjitcompiler", "libnvidia-ptxjitcompiler.so.1", 1},
		{"libnvidia-nvvm", "libnvidia-nvvm.so.4", 515},
		{"libnvidia-nvvm70", "libnvidia-nvvm70.so.4", 0},
		{"libcudadebugger", "libcudadebugger.so.1", 0},
	}
}

// members returns the libraries of one version in a directory, libcuda first,
// and the SONAMEs of those that should be there. Links, empty files (left
// behind in images made of running GPU containers) and files of other versions
// are none.
func (f *overlayFinder) members(dir string, entries []fs.DirEntry, version string) (members []Member, missing []string) {
	rows := memberRows()
	for _, entry := range entries {
		stem, ok := strings.CutSuffix(entry.Name(), ".so."+version)
		if !ok || !strings.HasPrefix(stem, "lib") || !entry.Type().IsRegular() || len(members) == maxMembers {
			continue
		}
		if _, info, err := f.tree.lookup("/" + path.Join(dir, entry.Name())); err != nil || info.Size() == 0 {
			continue
		}
		member := Member{SONAME: entry.Name(), File: entry.Name()}
		if i := slices.IndexFunc(rows, func(r memberRow) bool { return r.stem == stem }); i >= 0 {
			member.SONAME = rows[i].soname
		}
		members = append(members, member)
	}
	slices.SortStableFunc(members, func(a, b Member) int { return rank(rows, a) - rank(rows, b) })
	branch, _, _ := leadingNumber(version)
	for _, row := range rows {
		has := slices.ContainsFunc(members, func(m Member) bool { return m.SONAME == row.soname })
		if !has && row.since > 0 && branch >= row.since {
			missing = append(missing, row.soname)
		}
	}
	return members, missing
}

// rank is the position of a member's row; those without one come last.
func rank(rows []memberRow, m Member) int {
	if i := slices.IndexFunc(rows, func(r memberRow) bool { return r.soname == m.SONAME }); i >= 0 {
		return i
	}
	return len(rows)
}

// SONAMEs returns the names that the overlay takes the place of: those of its
// members and those that such sets can have, whether this one does or not. The
// host's libraries of these names must not be visible beside it: libcuda opens
// them by bare name and would get one of another version.
func (o Overlay) SONAMEs() []string {
	var names []string
	for _, member := range o.Members {
		names = append(names, member.SONAME)
	}
	for _, row := range memberRows() {
		if !slices.Contains(names, row.soname) {
			names = append(names, row.soname)
		}
	}
	return names
}
