package rawjson

import "fmt"

// KindError is a value that is neither missing nor null nor what it has to be.
type KindError struct {
	Path string // "linux.devices"
	Want byte   // '{' or '['
}

func (e *KindError) Error() string {
	kind := "an object"
	if e.Want == '[' {
		kind = "a list"
	}
	return fmt.Sprintf("%s is not %s", orWhole(e.Path), kind)
}

// KeyError is a key that stands twice, or in another case, in one object.
// runc takes the last one in any case, crun the first that is spelt right.
type KeyError struct{ Path string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("%s stands there twice or in another spelling, and runtimes disagree about which one counts", e.Path)
}

// Cure says what to do with the file.
func (e *KeyError) Cure() string {
	return "write the key once, in lower case as the specification has it"
}

func orWhole(path string) string {
	if path == "" {
		return "the text"
	}
	return path
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
