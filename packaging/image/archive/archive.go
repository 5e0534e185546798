package archive

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// File is one file of an image, owned by root.
type File struct {
	Path       string // "/gpu-hook"
	Data       []byte
	Target     string // of a symbolic link; Data is empty then
	Executable bool
	Dir        bool
}

// Image is what an archive is made of.
type Image struct {
	Tag          string // with a tag and a host part: "localhost/gpu-hook:1.0"
	Architecture string // Go's word: "amd64"
	Files        []File // directories above them are made
	Env          []string
	Entrypoint   []string
	Command      []string
	Labels       map[string]string
}

// epoch is the time of every file: the archive must not depend on when it was
// made.
var epoch = time.Unix(0, 0)

// Write writes the archive.
func Write(w io.Writer, image Image) error {
	layer, err := packLayer(image.Files)
	if err != nil {
		return fmt.Errorf("pack the layer: %w", err)
	}
	config, err := json.Marshal(configOf(image, layer))
	if err != nil {
		return fmt.Errorf("write the image's configuration: %w", err)
	}
	configName := digest(config) + ".json"
	manifest, err := json.Marshal([]any{map[string]any{
		"Config": configName, "RepoTags": []string{image.Tag}, "Layers": []string{"layer.tar"},
	}})
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	out := tar.NewWriter(w)
	for _, f := range []File{{Path: "/layer.tar", Data: layer}, {Path: "/" + configName, Data: config}, {Path: "/manifest.json", Data: manifest}} {
		if err := add(out, f); err != nil {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
	}
	return out.Close()
}

// configOf is the image configuration (image-spec v1.1, config.md).
func configOf(image Image, layer []byte) map[string]any {
	run := map[string]any{"Env": image.Env, "Labels": image.Labels}
	if len(image.Entrypoint) > 0 {
		run["Entrypoint"] = image.Entrypoint
	}
	if len(image.Command) > 0 {
		run["Cmd"] = image.Command
	}
	return map[string]any{
		"architecture": image.Architecture, "os": "linux", "created": epoch.UTC().Format(time.RFC3339), "config": run,
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer)}},
		"history": []any{map[string]any{"created": epoch.UTC().Format(time.RFC3339), "created_by": "gpu-hook packaging/image"}},
	}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// packLayer writes the files in the order of their paths, each directory once
// and before what is in it.
func packLayer(files []File) ([]byte, error) {
	all := map[string]File{}
	for _, f := range files {
		name := path.Clean("/" + f.Path)
		f.Path = name
		for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
			if other, ok := all[dir]; !ok {
				all[dir] = File{Path: dir, Dir: true}
			} else if !other.Dir {
				return nil, fmt.Errorf("%s is in %s, which is no directory", name, dir)
			}
		}
		if _, ok := all[name]; ok && !f.Dir {
			return nil, fmt.Errorf("%s is there twice", name)
		}
		if name != "/" {
			all[name] = f
		}
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range names {
		if err := add(w, all[name]); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func add(w *tar.Writer, f File) error {
	h := &tar.Header{Name: strings.TrimPrefix(f.Path, "/"), Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(f.Data)), ModTime: epoch, Format: tar.FormatPAX}
	switch {
	case f.Dir:
		h.Name, h.Typeflag, h.Mode, h.Size = h.Name+"/", tar.TypeDir, 0o755, 0
	case f.Target != "":
		h.Typeflag, h.Mode, h.Size, h.Linkname = tar.TypeSymlink, 0o777, 0, f.Target
	case f.Executable:
		h.Mode = 0o755
	}
	if err := w.WriteHeader(h); err != nil || h.Size == 0 {
		return err
	}
	_, err := w.Write(f.Data)
	return err
}
