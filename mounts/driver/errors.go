package driver

import (
	"fmt"
	"path"
	"sort"
	"strings"
)

// MismatchError means that the host has driver files, but none of the version
// of the loaded kernel module: an update without a reboot, as a rule.
type MismatchError struct {
	Module string   // the kernel module's version
	Files  []string // libraries of other versions, paths in the driver root
}

// Versions returns the versions of the files, each once.
func (e *MismatchError) Versions() []string {
	var versions []string
	seen := map[string]bool{}
	for _, f := range e.Files {
		if _, v, ok := splitName(path.Base(f)); ok && !seen[v] {
			seen[v] = true
			versions = append(versions, v)
		}
	}
	sort.Strings(versions)
	return versions
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("find driver files: the kernel module is %.200q, the files on the host are %.200q (%.200q)",
		e.Module, strings.Join(e.Versions(), ", "), strings.Join(e.Files, ", "))
}

// Cure says what a user can do.
func (e *MismatchError) Cure() string {
	return "reboot or reload the nvidia kernel module, or install the driver files of version " + e.Module
}

// MissingError means that a library that has to be there is nowhere.
type MissingError struct {
	Library string   // "libcuda.so.535.309.01"
	Root    string   // the driver root as configured, if [Query] named it
	Looked  []string // the places looked at that exist, and what was wrong there
	Absent  []string // the places that do not exist
	// Elsewhere is set where the library is in the host's own root instead of
	// the driver root.
	Elsewhere string
}

func (e *MissingError) Error() string {
	looked := "no place to look in is there"
	if len(e.Looked) > 0 {
		looked = "looked in " + strings.Join(e.Looked, ", ")
	}
	if len(e.Absent) > 0 {
		looked += fmt.Sprintf(" (not there: %d other places)", len(e.Absent))
	}
	root := "the driver root"
	if e.Root != "" {
		root = fmt.Sprintf("driver root %.200q", e.Root)
	}
	return fmt.Sprintf("find driver files: no %s in %s: %s", e.Library, root, looked)
}

// Cure says what a user can do.
func (e *MissingError) Cure() string {
	if e.Elsewhere != "" {
		return fmt.Sprintf("set driver.root = \"/\": the host has %.200q", e.Elsewhere)
	}
	return "install the user-space part of the driver, or name its directory in driver.library-dirs"
}
