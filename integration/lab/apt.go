package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/integration/need"
)

// Packages unpacks packages of a Debian suite ("bullseye", "bookworm",
// "trixie", "sid"; all components) into one folder of the cache and returns
// it. Nothing is installed. Callers must not write into the folder.
func Packages(t T, suite string, names ...string) string {
	t.Helper()
	need.Packages(t)
	return fetch(t, "packages", suite, "", names...)
}

// PackagesFor is Packages for another architecture, such as "arm64" or "i386".
func PackagesFor(t T, suite, arch string, names ...string) string {
	t.Helper()
	need.Packages(t)
	return fetch(t, "packages", suite, arch, names...)
}

// fetch downloads and unpacks; word is what the test needs and cannot have
// where the archive does not answer.
func fetch(t T, word, suite, arch string, names ...string) string {
	t.Helper()
	files := Archives(t, word, suite, arch, names...)
	return Once(t, "unpacked/"+filepath.Base(files), func(dir string) {
		for _, deb := range glob(t, files, "*.deb") {
			command(t, "", nil, "dpkg-deb", "-x", deb, dir)
		}
	})
}

// Archives downloads packages and returns the folder that holds the .deb files.
// Where the archive does not answer the test ends for the want of word.
func Archives(t T, word, suite, arch string, names ...string) string {
	t.Helper()
	sorted := slices.Sorted(slices.Values(names))
	sum := sha256.Sum256([]byte(strings.Join(sorted, " ")))
	key := strings.Trim(suite+"-"+arch, "-") + "-" + sorted[0] + "-" + hex.EncodeToString(sum[:4])
	return Once(t, "debs/"+key, func(dir string) {
		root := aptRoot(t, word, suite, arch)
		asked := slices.Clone(sorted)
		if arch != "" {
			for i := range asked {
				asked[i] += ":" + arch
			}
		}
		args := append(slices.Clone(root), "-q", "download")
		if _, err := try(dir, nil, "apt-get", append(args, asked...)...); err == nil {
			return
		}
		// The lists may be older than the archive: ask once more with new ones.
		if _, err := try("", nil, "apt-get", append(slices.Clone(root), "-q", "update")...); err != nil {
			need.Lacks(t, word, err.Error())
		}
		if _, err := try(dir, nil, "apt-get", append(args, asked...)...); err != nil {
			need.Lacks(t, word, err.Error())
		}
	})
}

// aptRoot returns the options that make apt-get use package lists of one suite
// in the cache, with the machine's own archive and keys.
func aptRoot(t T, word, suite, arch string) []string {
	t.Helper()
	name := strings.Trim("apt/"+suite+"-"+arch, "-")
	dir := Once(t, name, func(dir string) {
		mkdir(t, dir, "lists/partial", "cache/archives/partial")
		source, err := debianSource("/etc/apt")
		if err != nil {
			need.Lacks(t, word, err.Error())
		}
		Write(t, filepath.Join(dir, "suite.sources"), source.stanza(suite, arch))
		if _, err := try("", nil, "apt-get", append(aptOptions(dir), "-q", "update")...); err != nil {
			need.Lacks(t, word, err.Error())
		}
	})
	options := aptOptions(dir)
	if arch != "" {
		options = append(options, "-o", "APT::Architectures::="+arch)
	}
	return options
}

func aptOptions(dir string) []string {
	var out []string
	for _, option := range []string{
		"Dir::Etc::sourcelist=" + dir + "/suite.sources",
		"Dir::Etc::sourceparts=/dev/null",
		"Dir::State::Lists=" + dir + "/lists",
		"Dir::Cache=" + dir + "/cache",
		"Dir::State::status=/dev/null",
		"APT::Sandbox::User=",
		"Acquire::Languages=none",
		"Acquire::Retries=3",
		"Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
	} {
		out = append(out, "-o", option)
	}
	return out
}

// source is a place that has Debian's packages.
type source struct{ uri, signedBy string }

// stanza writes a deb822 source for one suite with all its components.
func (s source) stanza(suite, arch string) string {
	text := fmt.Sprintf("Types: deb\nURIs: %s\nSuites: %s\nComponents: main contrib non-free\n", s.uri, suite)
	if s.signedBy != "" {
		text += "Signed-By: " + s.signedBy + "\n"
	}
	if arch != "" {
		text += "Architectures: " + arch + "\n"
	}
	return text
}

// debianSource finds the archive among apt's own sources: the first one whose
// suite is a plain name of a Debian release and whose components hold "main".
func debianSource(dir string) (source, error) {
	var lists []string
	for _, pattern := range []string{"sources.list.d/*.sources", "sources.list", "sources.list.d/*.list"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return source{}, err
		}
		lists = append(lists, found...)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			return source{}, err
		}
		find := oneLine
		if strings.HasSuffix(list, ".sources") {
			find = stanzas
		}
		for _, s := range find(string(text)) {
			if slices.ContainsFunc(s.suites, release) && slices.Contains(s.components, "main") {
				return s.source, nil
			}
		}
	}
	return source{}, fmt.Errorf("find Debian's archive in %s: no source names a Debian release", dir)
}

// release reports whether a suite is a release itself, no updates of one.
func release(suite string) bool {
	return slices.Contains([]string{
		"buster", "bullseye", "bookworm", "trixie", "forky", "sid",
		"oldstable", "stable", "testing", "unstable",
	}, suite)
}

// entry is one source of apt's with what it offers.
type entry struct {
	source
	suites, components []string
}

// stanzas reads the deb822 form of apt's sources (man 5 sources.list).
func stanzas(text string) []entry {
	var out []entry
	for block := range strings.SplitSeq(text, "\n\n") {
		var e entry
		for line := range strings.Lines(block) {
			key, value, ok := strings.Cut(line, ":")
			words := strings.Fields(value)
			if !ok || len(words) == 0 {
				continue
			}
			switch strings.ToLower(strings.TrimSpace(key)) {
			case "uris":
				e.uri = words[0]
			case "suites":
				e.suites = words
			case "components":
				e.components = words
			case "signed-by":
				e.signedBy = words[0]
			}
		}
		if e.uri != "" {
			out = append(out, e)
		}
	}
	return out
}

// oneLine reads the older form: deb [options] URI suite components.
func oneLine(text string) []entry {
	var out []entry
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb ")
		if !ok {
			continue
		}
		var e entry
		if options, after, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(rest), "["), "]"); ok {
			rest = after
			for option := range strings.FieldsSeq(options) {
				if key, ok := strings.CutPrefix(option, "signed-by="); ok {
					e.signedBy = key
				}
			}
		}
		words := strings.Fields(rest)
		if len(words) < 3 {
			continue
		}
		e.uri, e.suites, e.components = words[0], words[1:2], words[2:]
		out = append(out, e)
	}
	return out
}

// glob returns the files of a folder that match, at least one.
func glob(t T, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if len(files) == 0 {
		t.Fatalf("find %s in %s: no such file", pattern, dir)
	}
	return files
}
