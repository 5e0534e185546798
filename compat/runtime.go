package compat

import (
	"io/fs"
	"strings"
)

// Runtime is the CUDA runtime that an image was found to need.
type Runtime struct {
	// Version is 0 if no runtime was found.
	Version CUDA
	// Source says where the version comes from: "env:CUDA_VERSION", or
	// "file:" and the path as the container sees it.
	Source string
	// Declared says that the image's environment names the version, instead
	// of it having been found in files.
	Declared bool
	// Notes are sentences on how the version was chosen, such as that several
	// were found and the highest counts.
	Notes []string
}

// Prefixes of [Runtime.Source].
const (
	sourceEnv  = "env:"
	sourceFile = "file:"
)

// finding is one version found in an image's files.
type finding struct {
	version CUDA
	path    string
	// partly says that only the major version is known.
	partly bool
}

// DetectRuntime finds the CUDA version that an image's programs were made for.
// It asks, in this order, and the first kind that answers counts: the variable
// CUDA_VERSION; version.json or version.txt of a toolkit; libcudart in the
// directories that the loader searches (libDirs, paths inside the container)
// and in those of a toolkit; Python wheels and conda packages; the lowest
// "cuda>=" of NVIDIA_REQUIRE_CUDA.
//
// root is the container's file system (see the package comment) and env looks
// up a variable of its process.
func DetectRuntime(root fs.FS, env func(string) (string, bool), libDirs []string) (Runtime, []Warning) {
	var warnings []Warning
	if value, _ := env("CUDA_VERSION"); value != "" {
		version, err := ParseCUDA(value)
		if err == nil {
			return Runtime{Version: version, Source: sourceEnv + "CUDA_VERSION", Declared: true}, nil
		}
		warnings = append(warnings, warnf("cuda-version-invalid",
			"the variable CUDA_VERSION is %.200q, which is no version, and was passed over; set it to a number like 12.4", value))
	}
	look := &search{tree: newTree(root), env: env}
	for _, kind := range []func(*search) []finding{
		(*search).versionFiles,
		func(s *search) []finding { return s.libraries(libDirs) },
		(*search).packages,
	} {
		if found := kind(look); len(found) > 0 {
			return highest(found), append(warnings, look.warnings...)
		}
	}
	warnings = append(warnings, look.warnings...)
	if look.tree.exhausted() {
		warnings = append(warnings, warnf("runtime-search-limit",
			"the search for the image's CUDA version was given up after %d steps; set CUDA_VERSION in the image", maxSteps))
	}
	if value, _ := env(requireCUDA); value != "" {
		if version := lowestRequired(value); version.Known() {
			return Runtime{Version: version, Source: sourceEnv + requireCUDA, Declared: true}, warnings
		}
	}
	return Runtime{}, warnings
}

// search is one look through an image.
type search struct {
	tree     *tree
	env      func(string) (string, bool)
	toolkits []toolkit
	listed   bool
	warnings []Warning
}

// skipped notes a file that should have told a version but did not.
func (s *search) skipped(path string, err error) {
	s.warnings = append(s.warnings, warnf("runtime-file-skipped",
		"%s does not tell the image's CUDA version and was passed over: %.200s", shown(path), err))
}

// highest chooses among findings of one kind.
func highest(found []finding) Runtime {
	best := found[0]
	for _, f := range found[1:] {
		if f.version > best.version {
			best = f
		}
	}
	runtime := Runtime{Version: best.version, Source: sourceFile + best.path}
	var others []string
	for _, f := range found {
		if f.version != best.version && len(others) < 4 {
			others = append(others, f.version.String()+" ("+shown(f.path)+")")
		}
	}
	if len(others) > 0 {
		runtime.Notes = append(runtime.Notes,
			"the image also holds CUDA "+strings.Join(others, " and ")+"; the highest version counts")
	}
	if best.partly {
		runtime.Notes = append(runtime.Notes,
			"only the major version is known from "+shown(best.path))
	}
	return runtime
}
