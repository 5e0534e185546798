package loader

import (
	"errors"
	"fmt"

	"github.com/gpu-hook/gpu-hook/mounts"
)

// writer writes the loader's files and collects what it could not do.
type writer struct {
	root     *mounts.Root
	warnings []mounts.Warning
}

func (w *writer) warn(code, format string, args ...any) {
	w.warnings = append(w.warnings, mounts.Warning{Code: code, Message: fmt.Sprintf(format, args...)})
}

// allowed reports whether files in /etc may be written. rest says what remains
// for programs where they may not.
func (w *writer) allowed(etc EtcState, rest string) bool {
	switch etc {
	case EtcForeign:
		w.warn("loader-etc-foreign", "/etc is a volume and was left as it is; %s", rest)
	case EtcReadOnly:
		w.warn("loader-etc-read-only", "/etc is on a read-only file system and was left as it is; %s", rest)
	case EtcNotDirectory:
		w.warn("loader-etc-not-a-directory", "/etc is not a directory and was left as it is; %s", rest)
	}
	return etc.Writable()
}

// write puts a file that everybody can read in its place and reports whether
// it is there now.
func (w *writer) write(dir, name string, data []byte, rest string) bool {
	_, err := w.root.WriteFile(dir, name, data, 0o644)
	if err == nil {
		return true
	}
	code := "loader-write"
	if _, foreign := errors.AsType[*mounts.ForeignMountError](err); foreign {
		code = "loader-etc-foreign"
	} else if _, readOnly := errors.AsType[*mounts.ReadOnlyError](err); readOnly {
		code = "loader-etc-read-only"
	}
	w.warn(code, "%.200q was left as it is (%v); %s", dir+"/"+name, err, rest)
	return false
}
