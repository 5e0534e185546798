package cdispec

import (
	"fmt"
	"strings"
)

// DefaultKind is NVIDIA's own: what users write behind --device.
const DefaultKind = "nvidia.com/gpu"

// KindError is a kind that the CDI specification does not allow.
type KindError struct{ Kind string }

func (e *KindError) Error() string { return fmt.Sprintf("%.200q is no kind of CDI devices", e.Kind) }

// Cure shows what a kind looks like.
func (*KindError) Cure() string { return "write VENDOR/CLASS, such as " + DefaultKind }

// checkKind applies the rules of the CDI specification's section "Kind": two
// names of letters, digits and ".", "-", "_" that begin with a letter and end
// with a letter or a digit.
func checkKind(kind string) error {
	vendor, class, ok := strings.Cut(kind, "/")
	if !ok || !segment(vendor) || !segment(class) {
		return &KindError{kind}
	}
	return nil
}

func segment(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		inside := letter || c >= '0' && c <= '9'
		switch {
		case i == 0 && !letter, i == len(name)-1 && !inside:
			return false
		case !inside && !strings.ContainsRune(".-_", rune(c)):
			return false
		}
	}
	return name != ""
}
