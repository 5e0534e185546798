package devices

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// migCacheFile holds "state SUM" and then lines "UUID GPU GI CI".
const migCacheFile = "mig-uuids"

// readMIGCache returns nil unless the file is there, of the same state, and
// makes sense throughout.
func readMIGCache(dir, state string, gpus int) map[string]migPlace {
	data, err := readFile(filepath.Join(dir, migCacheFile))
	if err != nil {
		return nil
	}
	return parseMIGCache(data, state, gpus)
}

func parseMIGCache(data []byte, state string, gpus int) map[string]migPlace {
	head, body, ok := strings.Cut(string(data), "\n")
	if !ok || head != "state "+state {
		return nil
	}
	uuids := map[string]migPlace{}
	for line := range strings.Lines(body) {
		var uuid string
		var p migPlace
		n, err := fmt.Sscanf(line, "%s %d %d %d\n", &uuid, &p.gpu, &p.gi, &p.ci)
		if err != nil || n != 4 || p.gpu < 0 || p.gpu >= gpus || !strings.HasPrefix(uuid, "MIG-") {
			return nil
		}
		uuids[uuid] = p
	}
	return uuids
}

// writeMIGCache replaces the file by a complete one, so that a reader at the
// same time sees either.
func writeMIGCache(dir, state string, uuids map[string]migPlace) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	var names []string
	for uuid := range uuids {
		names = append(names, uuid)
	}
	sort.Strings(names)
	var text strings.Builder
	fmt.Fprintf(&text, "state %s\n", state)
	for _, uuid := range names {
		p := uuids[uuid]
		fmt.Fprintf(&text, "%s %d %d %d\n", uuid, p.gpu, p.gi, p.ci)
	}
	temp, err := os.CreateTemp(dir, migCacheFile+".")
	if err != nil {
		return err
	}
	_, err = temp.WriteString(text.String())
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temp.Name(), filepath.Join(dir, migCacheFile)) //nolint:forbidigo // a directory of root's own
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
