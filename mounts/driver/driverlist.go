package driver

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"strings"
)

// maxDriverList bounds a driver list, in bytes. Those of 535 have 22 to 740.
const maxDriverList = 64 << 10

// checkDriverList warns of a list that its readers cannot make sense of.
func (s *fileSearch) checkDriverList(t *tree, f found, kind Kind) {
	if kind != Data || !strings.HasSuffix(f.name, ".json") {
		return
	}
	data, err := t.root.ReadFile(t.name(f), maxDriverList)
	if err == nil && !json.Valid(data) {
		err = errNotJSON
	}
	if err != nil {
		s.warn("bad-driver-list", "%.200q is given to the container but programs will pass it over: %v; install its package again", t.name(f), err)
	}
}

var errNotJSON = errors.New("it is not JSON")

// driverListText is what the container must see of a list of drivers that says
// where on the host its library lies: those of NixOS and of some RPM packages
// do, NVIDIA's own give a name. It is "" where the host's file will do.
func driverListText(t *tree, f found, kind Kind) string {
	bare := bareJSON
	switch {
	case kind != Data:
		return ""
	case strings.HasSuffix(f.name, ".icd"):
		bare = bareICD
	case !strings.HasSuffix(f.name, ".json"):
		return ""
	}
	data, err := t.root.ReadFile(t.name(f), maxDriverList)
	if err != nil {
		return "" // It is passed on as it is.
	}
	text, changed := bare(data)
	if !changed {
		return ""
	}
	return string(text)
}

// bareJSON replaces each absolute "library_path" by the library's file name,
// which the loader finds by itself, and leaves every other byte as it is. The
// key and its meaning are the same in the files of Vulkan's loader, GLVND and
// EGL's external platforms.
func bareJSON(data []byte) (text []byte, changed bool) {
	key := []byte(`"library_path"`)
	for {
		i := bytes.Index(data, key)
		if i < 0 {
			return append(text, data...), changed
		}
		rest := data[i+len(key):]
		value := bytes.TrimLeft(rest, ": \t\r\n")
		start := i + len(key) + len(rest) - len(value)
		end := -1
		if bytes.HasPrefix(value, []byte(`"/`)) {
			end = bytes.IndexByte(value[1:], '"')
		}
		text = append(text, data[:start]...)
		data = data[start:]
		if end < 0 {
			continue
		}
		name := path.Base(string(value[1 : 1+end]))
		text = append(text, '"')
		text = append(text, name...)
		data = data[1+end:]
		changed = true
	}
}

// bareICD does the same for an OpenCL list, whose content is one path or name.
func bareICD(data []byte) (text []byte, changed bool) {
	name := strings.TrimSpace(string(data))
	if !path.IsAbs(name) {
		return data, false
	}
	return []byte(path.Base(name) + "\n"), true
}
