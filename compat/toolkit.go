package compat

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Limits on the files of a toolkit: version.json of CUDA 12 has 3 kB.
const (
	maxToolkits    = 16
	maxVersionFile = 64 << 10
)

// toolkit is one directory /usr/local/cuda*, found once whatever links lead
// to it.
type toolkit struct {
	name    string   // resolved
	aliases []string // the paths it was found under
}

// findToolkits looks for /usr/local/cuda and /usr/local/cuda-*.
func findToolkits(t *tree) []toolkit {
	local, ok := t.dir("/usr/local")
	if !ok {
		return nil
	}
	var list []toolkit
	seen := map[string]int{}
	paths := 0
	for _, entry := range t.list(local, prefixed("cuda")) {
		base := entry.Name()
		if base != "cuda" && !strings.HasPrefix(base, "cuda-") || entry.Type().IsRegular() {
			continue
		}
		if paths++; paths > maxToolkits {
			break
		}
		alias := "/usr/local/" + base
		name, ok := t.dir(alias)
		if !ok {
			continue
		}
		i, known := seen[name]
		if !known {
			i = len(list)
			seen[name] = i
			list = append(list, toolkit{name: name})
		}
		list[i].aliases = append(list[i].aliases, alias)
	}
	return list
}

func (s *search) findToolkits() []toolkit {
	if !s.listed {
		s.toolkits, s.listed = findToolkits(s.tree), true
	}
	return s.toolkits
}

// versionFiles reads version.json (CUDA 11.1 and newer) or version.txt (older)
// of each toolkit.
func (s *search) versionFiles() []finding {
	var found []finding
	for _, kit := range s.findToolkits() {
		for _, file := range []struct {
			name  string
			parse func([]byte) (CUDA, error)
		}{
			{"version.json", parseVersionJSON},
			{"version.txt", parseVersionText},
		} {
			where := "/" + path.Join(kit.name, file.name)
			data, err := s.tree.read(where, maxVersionFile)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			var version CUDA
			if err == nil {
				version, err = file.parse(data)
			}
			if err != nil {
				s.skipped(where, err)
				continue
			}
			found = append(found, finding{version: version, path: where})
			break
		}
	}
	return found
}

// parseVersionJSON reads a toolkit's version.json: the version of the whole
// ("cuda"), or where only parts are installed that of the runtime library.
func parseVersionJSON(data []byte) (CUDA, error) {
	type component struct {
		Version string `json:"version"`
	}
	var parts struct {
		CUDA   component `json:"cuda"`
		Cudart component `json:"cuda_cudart"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return 0, err
	}
	if parts.CUDA.Version != "" {
		return ParseCUDA(parts.CUDA.Version)
	}
	return ParseCUDA(parts.Cudart.Version)
}

// parseVersionText reads a toolkit's version.txt: "CUDA Version 10.1.243",
// with more lines where patches are installed.
func parseVersionText(data []byte) (CUDA, error) {
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "CUDA Version "); ok {
			return ParseCUDA(text)
		}
	}
	return 0, errors.New("no line with CUDA Version")
}

// cudartPrefix begins the name of the CUDA runtime library's files.
const cudartPrefix = "libcudart.so."

// cudartNames are the SONAMEs of the runtime library, newest first: the
// version up to CUDA 10.2, 11.0 for all of CUDA 11, the major version since 12.
func cudartNames() []string {
	rows := branches()
	newest := rows[len(rows)-1].cuda.Major()
	names := []string{cudartPrefix + strconv.Itoa(newest+1)}
	for i := len(rows) - 1; i >= 0; i-- {
		version := rows[i].cuda
		switch {
		case version.Minor() == 0 && version.Major() >= 12:
			names = append(names, cudartPrefix+strconv.Itoa(version.Major()))
		case version.Major() < 11 || version.Minor() == 0:
			names = append(names, cudartPrefix+version.String())
		}
	}
	return names
}

// libraries looks for libcudart: by its SONAMEs in the loader's directories,
// which can be too long to list and where the loader finds nothing else
// either, and by any version in those of the toolkits.
func (s *search) libraries(libDirs []string) []finding {
	var found []finding
	seen := map[string]bool{}
	add := func(name string) {
		if version, partly, ok := cudartVersion(path.Base(name)); ok && !seen[name] {
			seen[name] = true
			found = append(found, finding{version: version, path: "/" + name, partly: partly})
		}
	}
	names := cudartNames()
	for i, dir := range libDirs {
		name, ok := s.tree.dir(dir)
		if !ok || seen[name] || i >= maxLibDirs {
			continue
		}
		seen[name] = true
		for _, soname := range names {
			if file, info, err := s.tree.lookup("/" + path.Join(name, soname)); err == nil && info.Mode().IsRegular() {
				add(file)
			}
		}
	}
	for _, kit := range s.findToolkits() {
		for _, sub := range []string{"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "targets/aarch64-linux/lib"} {
			if name, ok := s.tree.dir("/" + path.Join(kit.name, sub)); ok && !seen[name] {
				seen[name] = true
				for _, file := range s.cudartIn(name) {
					add(file)
				}
			}
		}
	}
	return found
}

// maxLibDirs is how many of the loader's directories are searched.
const maxLibDirs = 64

// cudartIn lists the runtime libraries of a directory, links left aside: what
// they lead to is in the list itself.
func (s *search) cudartIn(dir string) []string {
	var names []string
	for _, entry := range s.tree.list(dir, prefixed(cudartPrefix)) {
		if entry.Type().IsRegular() {
			names = append(names, path.Join(dir, entry.Name()))
		}
	}
	return names
}

// cudartVersion tells the version from the name of a libcudart file. Three
// components name the version of the library, two are a SONAME, which names
// the version only up to CUDA 10.2, and one is only the major version.
func cudartVersion(base string) (version CUDA, partly, ok bool) {
	text, ok := strings.CutPrefix(base, cudartPrefix)
	if !ok || strings.Trim(text, "0123456789.") != "" {
		return 0, false, false
	}
	version, err := ParseCUDA(text)
	if err != nil {
		return 0, false, false
	}
	dots := strings.Count(text, ".")
	return version, dots == 0 || dots == 1 && version.Major() >= 11, true
}
