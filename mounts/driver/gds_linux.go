package driver

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/mounts"
)

// gdsFiles are what GPUDirect Storage's library reads: its configuration, and
// udev's data base, by which it finds the disks behind a file (list: the runtime
// of NVIDIA Container Toolkit, NVIDIA_GDS).
var gdsFiles = [...]struct {
	path string
	kind Kind
	want uint32
}{
	{"/etc/cufile.json", Data, unix.S_IFREG},
	{"/run/udev", Directory, unix.S_IFDIR},
}

var errWrongKind = errors.New("not of the kind that belongs there")

// FindGDS finds the files of GPUDirect Storage in the roots given; the first
// that has one wins. Each is optional: the library has defaults.
func FindGDS(roots ...*mounts.Root) Files {
	var out Files
	for _, row := range gdsFiles {
		found := len(out.Files)
		for _, root := range roots {
			at, err := gdsFile(root, row.path, row.want)
			if err == nil {
				out.Files = append(out.Files, File{
					Source: at, Target: row.path, Capability: "gds", Kind: row.kind, Optional: true, Root: root,
				})
				break
			}
			if !errors.Is(err, fs.ErrNotExist) {
				out.Warnings = append(out.Warnings, mounts.Warning{Code: "no-gds", Message: fmt.Sprintf("%s is left out: %v", row.path, err)})
			}
		}
		if len(out.Files) == found {
			out.Notes = append(out.Notes, "the host has no "+row.path+": GPUDirect Storage goes by its defaults")
		}
	}
	return out
}

// gdsFile resolves a name in a root and looks at what is there.
func gdsFile(root *mounts.Root, name string, want uint32) (string, error) {
	at, err := root.Resolve(name)
	if err != nil {
		return "", err
	}
	f, err := root.Lookup(at)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != want {
		return "", fmt.Errorf("%.200q: %w", at, errWrongKind)
	}
	return at, nil
}
