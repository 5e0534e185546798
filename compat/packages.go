package compat

import (
	"path"
	"slices"
	"strings"
)

// maxPythons is how many Python versions of one prefix are searched.
const maxPythons = 8

// prefixes are the usual places of Python and conda in images, beside the ones
// that VIRTUAL_ENV and CONDA_PREFIX name.
func prefixes() []string {
	return []string{
		"/usr", "/usr/local", "/opt/venv", "/opt/conda", "/venv", "/app/.venv", "/root/.venv",
		"/workspace/.venv", "/opt/miniconda3", "/opt/miniforge3", "/root/miniconda3", "/root/anaconda3",
	}
}

// packages looks for the CUDA runtime as a Python wheel and as a conda package.
// The versions come from the names of files and directories, which pip and
// conda make of the package's name and version; nothing is opened.
func (s *search) packages() []finding {
	var found []finding
	seen := map[string]bool{}
	for _, prefix := range s.prefixes() {
		name, ok := s.tree.dir(prefix)
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		found = append(found, s.conda(name)...)
		lib, ok := s.tree.dir("/" + path.Join(name, "lib"))
		if !ok || seen[lib] {
			continue
		}
		seen[lib] = true
		found = append(found, s.pythons(lib)...)
	}
	return found
}

// prefixes puts those that the environment names first.
func (s *search) prefixes() []string {
	var list []string
	for _, variable := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if value, _ := s.env(variable); path.IsAbs(value) {
			list = append(list, value)
		}
	}
	return append(list, prefixes()...)
}

// pythons searches lib/python3*/site-packages and dist-packages.
func (s *search) pythons(lib string) []finding {
	var found []finding
	count := 0
	for _, entry := range s.tree.list(lib, prefixed("python3")) {
		if count++; count > maxPythons {
			break
		}
		for _, sub := range []string{"site-packages", "dist-packages"} {
			if site, ok := s.tree.dir("/" + path.Join(lib, entry.Name(), sub)); ok {
				found = append(found, s.wheels(site)...)
			}
		}
	}
	return found
}

// wheels looks into one directory of Python packages. NVIDIA's wheels hold
// nvidia/cuda_runtime/lib/libcudart.so.12 (CUDA 11 and 12) or
// nvidia/cu13/lib/libcudart.so.13; some of PyTorch's own bring the library
// under a mangled name and tell its version in theirs ("torch-2.1.0+cu118").
func (s *search) wheels(site string) []finding {
	library := s.wheelLibrary(site)
	_, torch := s.tree.dir("/" + path.Join(site, "torch/lib"))
	if library == "" && !torch {
		return nil
	}
	var own, pytorch []finding
	record := func(base string) bool {
		return strings.HasSuffix(base, recordSuffix) && (strings.HasPrefix(base, "nvidia_cuda") || strings.HasPrefix(base, "torch-"))
	}
	for _, entry := range s.tree.list(site, record) {
		version, from := distInfo(entry.Name())
		f := finding{version: version, path: "/" + path.Join(site, entry.Name())}
		switch {
		case from == wheelRuntime && library != "":
			own = append(own, f)
		case from == wheelTorch && torch:
			pytorch = append(pytorch, f)
		}
	}
	switch {
	case len(own) > 0:
		return own
	case library != "":
		if version, partly, ok := cudartVersion(path.Base(library)); ok {
			return []finding{{version: version, path: "/" + library, partly: partly}}
		}
	}
	return pytorch
}

// wheelLibrary returns the runtime library of NVIDIA's wheels, or "".
func (s *search) wheelLibrary(site string) string {
	nvidia, ok := s.tree.dir("/" + path.Join(site, "nvidia"))
	if !ok {
		return ""
	}
	holders := func(base string) bool { return base == "cuda_runtime" || strings.HasPrefix(base, "cu1") }
	for _, entry := range s.tree.list(nvidia, holders) {
		base := entry.Name()
		if lib, ok := s.tree.dir("/" + path.Join(nvidia, base, "lib")); ok {
			if files := s.cudartIn(lib); len(files) > 0 {
				return files[len(files)-1]
			}
		}
	}
	return ""
}

// recordSuffix ends the name of the directory in which pip records a wheel.
const recordSuffix = ".dist-info"

// wheel is what a .dist-info directory belongs to.
type wheel int

const (
	wheelOther wheel = iota
	wheelRuntime
	wheelTorch
)

// distInfo tells the CUDA version from the name of a .dist-info directory, such
// as nvidia_cuda_runtime_cu12-12.4.127.dist-info.
func distInfo(base string) (CUDA, wheel) {
	text, ok := strings.CutSuffix(base, recordSuffix)
	if !ok {
		return 0, wheelOther
	}
	name, text, _ := strings.Cut(text, "-")
	switch {
	case strings.HasPrefix(name, "nvidia_cuda_runtime"):
		if version, err := ParseCUDA(text); err == nil {
			return version, wheelRuntime
		}
	case name == "torch":
		if version, ok := torchCUDA(text); ok {
			return version, wheelTorch
		}
	}
	return 0, wheelOther
}

// torchCUDA reads the local part of a PyTorch version: "2.1.0+cu118" is 11.8.
func torchCUDA(text string) (CUDA, bool) {
	_, local, _ := strings.Cut(text, "+cu")
	number, rest, ok := leadingNumber(local)
	if !ok || rest != "" && rest[0] != '.' || number < 70 || number > 999 {
		return 0, false
	}
	return MakeCUDA(number/10, number%10), true
}

// conda looks for the runtime among a prefix's conda packages.
func (s *search) conda(prefix string) []finding {
	meta, ok := s.tree.dir("/" + path.Join(prefix, "conda-meta"))
	if !ok {
		return nil
	}
	var found []finding
	for _, entry := range s.tree.list(meta, prefixed("cuda")) {
		if version, ok := condaPackage(entry.Name()); ok && !entry.IsDir() {
			found = append(found, finding{version: version, path: "/" + path.Join(meta, entry.Name())})
		}
	}
	return found
}

// condaPackage tells the CUDA version from the name of a conda record, which
// is NAME-VERSION-BUILD.json. The runtime is cuda-cudart since CUDA 12 and was
// cudatoolkit before.
func condaPackage(base string) (CUDA, bool) {
	text, ok := strings.CutSuffix(base, ".json")
	parts := strings.Split(text, "-")
	if !ok || len(parts) < 3 {
		return 0, false
	}
	name := strings.Join(parts[:len(parts)-2], "-")
	if !slices.Contains([]string{"cuda-cudart", "cudatoolkit"}, name) {
		return 0, false
	}
	version, err := ParseCUDA(parts[len(parts)-2])
	return version, err == nil
}
