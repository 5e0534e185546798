package wrapper

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/hook"
	"github.com/gpu-hook/gpu-hook/hook/rawjson"
	"github.com/gpu-hook/gpu-hook/hook/record"
)

// maxResources bounds the resources of an update in bytes; engines write some
// hundred.
const maxResources = 1 << 20

// resources is the option of update that names the file of new limits.
type resources struct {
	at     int    // the word of the command line that has the value
	prefix string // what stands before it in the same word
	value  string // "-" is standard input
}

// findResources looks for the option behind the command. The last one counts.
func findResources(args []string, from int) (resources, bool) {
	var r resources
	found := false
	for i := from; i < len(args) && args[i] != "--"; i++ {
		word := args[i]
		if !strings.HasPrefix(word, "-") {
			continue
		}
		name, value, has := option(word)
		switch {
		case name != "resources" && name != "r":
			if !has && len(word) > 2 && strings.HasPrefix(word, "-r") && name != "root" {
				r, found = resources{i, "-r", word[2:]}, true // crun's -rFILE
			}
		case has:
			r, found = resources{i, word[:len(word)-len(value)], value}, true
		case i+1 < len(args):
			i++
			r, found = resources{i, "", args[i]}, true
		}
	}
	return r, found
}

// keepRules adds a container's GPU rules to the device list of an update.
// containerd's CRI plugin sends a list that says no more than "deny all" with
// every update, and podman its own. runc does not look at it; crun builds a new
// filter from it, whatever config.json said, and the GPUs would be gone (seen
// with 1.8 and 1.28). An update without a device list, and one of a container
// that has no GPU of ours, is not touched, and neither is standard input then.
//
// It returns the command line. Whatever does not work leaves the update as it
// is: the engine is told by the runtime, not by us.
func (r Runner) keepRules(args []string, from int) []string {
	res, found := findResources(args, from)
	if !found {
		return args
	}
	rec, found := r.recordOf(args[from:])
	if !found || rec.Access == "" {
		return args
	}
	text, err := readResources(res.value)
	if err == nil {
		if more, err := withRules(text, rec); err == nil {
			text = more
		}
	} else if res.value != "-" {
		return args
	}
	fd, err := memory(text)
	if err != nil {
		return args
	}
	if res.value == "-" {
		if err := unix.Dup3(fd, 0, 0); err == nil {
			_ = unix.Close(fd)
		}
		return args
	}
	args = slices.Clone(args)
	args[res.at] = fmt.Sprintf("%s/proc/self/fd/%d", res.prefix, fd)
	return args
}

// recordOf finds the record of the one running container that a word names. Two
// of the same name, of two engines, are none: a rule must not reach the wrong
// one.
func (r Runner) recordOf(words []string) (record.Record, bool) {
	records, err := record.Store{Dir: cmp.Or(r.RunDir, hook.RunDir)}.List()
	if err != nil {
		return record.Record{}, false
	}
	records = slices.DeleteFunc(records, func(rec record.Record) bool { return !slices.Contains(words, rec.ID) })
	if len(records) != 1 {
		return record.Record{}, false
	}
	return records[0], true
}

// withRules adds the rules that a device list lacks. Without a list there is
// nothing to add to.
func withRules(text []byte, rec record.Record) ([]byte, error) {
	raw, err := rawjson.Find(text, "devices")
	if raw == nil || err != nil {
		return text, err
	}
	var have []specs.LinuxDeviceCgroup
	if err := json.Unmarshal(raw, &have); err != nil {
		return nil, fmt.Errorf("read devices: %w", err)
	}
	if len(have) == 0 {
		return text, nil
	}
	var e encoder
	var rules []specs.LinuxDeviceCgroup
	for _, n := range rec.Nodes {
		rule := hook.DeviceRule{Type: "c", Major: n.Major, Minor: n.Minor, Access: rec.Access}
		if granted(have, rule) {
			continue
		}
		rules = append(rules, ociRule(rule))
	}
	out, err := rawjson.Edit(text, rawjson.Change{Key: "devices", Append: list(&e, rules)})
	return out, cmp.Or(err, e.err)
}

func readResources(value string) ([]byte, error) {
	if value == "-" {
		return io.ReadAll(io.LimitReader(os.Stdin, maxResources))
	}
	f, err := os.OpenFile(value, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxResources {
		return nil, fmt.Errorf("read %.200q: no regular file of at most %d bytes: %w", value, maxResources, cmp.Or(err, os.ErrInvalid))
	}
	return io.ReadAll(f)
}

// memory puts a text into a file that has no name and goes with the process.
// The descriptor is inherited by the runtime (memfd_create: Linux 3.17).
func memory(text []byte) (int, error) {
	fd, err := unix.MemfdCreate("gpu-hook-resources", 0)
	if err != nil {
		return -1, os.NewSyscallError("memfd_create", err)
	}
	for rest := text; len(rest) > 0; {
		n, err := unix.Write(fd, rest)
		if err != nil {
			_ = unix.Close(fd)
			return -1, os.NewSyscallError("write", err)
		}
		rest = rest[n:]
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		_ = unix.Close(fd)
		return -1, os.NewSyscallError("lseek", err)
	}
	return fd, nil
}
