// Command image packs gpu-hook and its installer into an image from scratch,
// as a docker-archive: "make image".
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gpu-hook/gpu-hook/packaging/image/archive"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run packs the programs named on the command line; the last one is what the
// image runs.
func run(args []string) (err error) {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	out := flags.String("o", "image.tar", "the archive to write")
	tag := flags.String("tag", "localhost/gpu-hook:devel", "the image's name")
	arch := flags.String("arch", runtime.GOARCH, "the programs' architecture")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("read the command line: no programs named")
	}
	image := archive.Image{Tag: *tag, Architecture: *arch, Labels: map[string]string{"org.opencontainers.image.title": "gpu-hook"}}
	for _, file := range flags.Args() {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := "/" + filepath.Base(file)
		image.Files = append(image.Files, archive.File{Path: name, Data: data, Executable: true})
		image.Entrypoint = []string{name}
	}
	f, err := os.OpenFile(*out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	return errors.Join(archive.Write(w, image), w.Flush())
}
