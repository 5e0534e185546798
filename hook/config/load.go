package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"golang.org/x/sys/unix"
)

// maxFile bounds the file in bytes; a full one has less than 4 kB.
const maxFile = 1 << 20

// Load reads the file at path. A missing file gives the defaults, unless
// explicit says that somebody named it. A file that is not valid gives an
// [InvalidError] and, beside it, the most willing configuration that could be
// read: good for finding out whether a container asks for a GPU at all, and
// for nothing else.
func Load(path string, explicit bool) (Config, error) {
	data, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !explicit:
		return Default(), nil
	case err != nil:
		return willing(Default()), &InvalidError{Path: path, Reason: reason(err), Err: err}
	}
	return Parse(path, data)
}

// Parse is [Load] for a file that is in memory; path is for messages.
func Parse(path string, data []byte) (Config, error) {
	c := Default()
	decoder := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return willing(c), decodeError(path, err)
	}
	if f := c.fault(); f != nil {
		return willing(c), &InvalidError{Path: path, Line: lineOf(data, f.key), Reason: f.text()}
	}
	return c, nil
}

// willing makes of a configuration with faults one under which every request
// is seen.
func willing(c Config) Config {
	c.AcceptEnv, c.AcceptVolumeMounts = EnvAlways, true
	if !slices.Contains(levels, string(c.Log.Level)) || !slices.Contains(formats, string(c.Log.Format)) {
		c.Log = Default().Log
	}
	return c
}

// readFile reads a regular file; O_NONBLOCK makes opening a FIFO return at
// once, so that it can be refused.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("longer than %d bytes", maxFile)
	}
	return data, err
}

// reason leaves out the path that the error repeats.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Op + ": " + path.Err.Error()
	}
	return err.Error()
}

// decodeError puts what go-toml says into an [InvalidError].
func decodeError(path string, err error) error {
	invalid := &InvalidError{Path: path, Reason: strings.TrimPrefix(err.Error(), "toml: "), Err: err}
	var unknown *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		first := &unknown.Errors[0]
		invalid.Line, _ = first.Position()
		invalid.Reason = fmt.Sprintf("unknown key %.200q", strings.Join(first.Key(), "."))
	case errors.As(err, &bad):
		invalid.Line, _ = bad.Position()
		if is, wants, ok := mismatch(bad.Error()); ok {
			invalid.Reason = fmt.Sprintf("%.200q is %s, want %s", strings.Join(bad.Key(), "."), is, wants)
		}
	}
	return invalid
}

// mismatch turns go-toml's "cannot decode TOML K into ... of type T" into the
// words of somebody who has never seen Go.
func mismatch(text string) (is, wants string, ok bool) {
	_, rest, ok := strings.Cut(text, "cannot decode TOML ")
	if !ok {
		return "", "", false
	}
	is, rest, ok = strings.Cut(rest, " into ")
	if !ok {
		return "", "", false
	}
	switch goType := rest[strings.LastIndexByte(rest, ' ')+1:]; {
	case goType == "bool":
		wants = "true or false"
	case strings.HasPrefix(goType, "[]"):
		wants = "a list of strings"
	case slices.Contains([]string{"config.Driver", "config.Mounts", "config.Cgroups", "config.Compat", "config.Runtime", "config.Log"}, goType):
		wants = "a table"
	default:
		wants = "a string"
	}
	return "a TOML " + is, wants, true
}

// lineOf finds the line of a key: go-toml reports positions only for what it
// does not know, so it is asked to read the file into tables without fields.
func lineOf(data []byte, key string) int {
	var skeleton struct {
		Driver  struct{} `toml:"driver"`
		Mounts  struct{} `toml:"mounts"`
		Cgroups struct{} `toml:"cgroups"`
		Compat  struct{} `toml:"compat"`
		Runtime struct{} `toml:"runtime"`
		Log     struct{} `toml:"log"`
	}
	var unknown *toml.StrictMissingError
	if !errors.As(toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&skeleton), &unknown) {
		return 0
	}
	for i := range unknown.Errors {
		if strings.EqualFold(strings.Join(unknown.Errors[i].Key(), "."), key) {
			line, _ := unknown.Errors[i].Position()
			return line
		}
	}
	return 0
}
