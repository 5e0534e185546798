package cdispec

import (
	"fmt"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"
)

// leastVersion is the oldest version of specifications made here: the first in
// which device names may begin with a digit. Podman 4.3 reads it.
const leastVersion = "0.5.0"

// Newest is the word for the newest version that is known.
const Newest = "newest"

// VersionError is a version that cannot be used.
type VersionError struct {
	Version string
	Err     error
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("use CDI version %.200q: %v", e.Version, e.Err)
}

// Unwrap gives what the CDI module said.
func (e *VersionError) Unwrap() error { return e.Err }

// Cure says what to write.
func (*VersionError) Cure() string {
	return "leave --cdi-version out for the oldest that will do, or write one up to " + specs.CurrentVersion
}

// setVersion sets the version asked for, or the oldest that has everything
// that is used.
func setVersion(spec *specs.Spec, version string) error {
	switch version {
	case "":
		least, err := specs.MinimumRequiredVersion(spec)
		if err != nil {
			return err
		}
		spec.Version = max(least, leastVersion) // one digit each up to 1.1.0
		return nil
	case Newest:
		spec.Version = specs.CurrentVersion
		return nil
	}
	spec.Version = strings.TrimPrefix(version, "v")
	if strings.Count(spec.Version, ".") == 1 {
		spec.Version += ".0"
	}
	if err := specs.ValidateVersion(spec); err != nil {
		return &VersionError{version, err}
	}
	return nil
}
