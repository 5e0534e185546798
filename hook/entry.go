package hook

import "github.com/gpu-hook/gpu-hook/hook/state"

// Entry is the way into the container's mount namespace.
type Entry string

// The ways. All of them are found out, none is configured.
const (
	// EntrySetns joins from the outside, with the host's ids: an ordinary
	// container of root, or rootless podman, whose hooks are in the user
	// namespace of its containers.
	EntrySetns Entry = "setns"
	// EntryUserNamespace joins from the outside and makes files as the root of
	// the container's user namespace: a container of root with id mappings.
	EntryUserNamespace Entry = "user-namespace"
	// EntryInside joins nothing: a createContainer hook is inside already.
	EntryInside Entry = "inside"
	// EntryNsenter replaces this process by the host's nsenter, which starts
	// gpu-hook again inside: an ordinary user's runtime, whose prestart hooks
	// have no rights and no way for a Go program to gain them.
	EntryNsenter Entry = "nsenter"
)

// Standing is where this process stands, seen from the container: what the way
// in depends on. It holds facts of the kernel, none of the state or of the
// environment.
type Standing struct {
	Stage   state.Stage
	Entered bool // nsenter has brought us inside
	Capable bool // CAP_SYS_ADMIN, CAP_SYS_CHROOT in our own user namespace: what setns(2) asks for
	Nested  bool // our user namespace is not the system's first: device nodes cannot be made
	Other   bool // the container's user namespace is another than ours
	UID     uint32
	Maps    IDMaps // of the container's user namespace in ids of ours; only where it is another
}

// Way chooses. Without rights in a container of the same user namespace there
// is none: that is left to setns, whose error says so.
func (s Standing) Way() Entry {
	switch {
	case s.Entered:
		return EntryNsenter
	case s.Stage == state.CreateContainer:
		return EntryInside
	case !s.Other:
		return EntrySetns
	case s.Capable:
		return EntryUserNamespace
	default:
		return EntryNsenter
	}
}

// Inside reports that this process is in the container's mount namespace.
func (s Standing) Inside() bool { return s.Entered || s.Stage == state.CreateContainer }

// Enters reports that nsenter has to take us inside.
func (s Standing) Enters() bool { return s.Way() == EntryNsenter && !s.Entered }

// Binds reports that nodes cannot be made but must be the host's, bound. In a
// user namespace mknod(2) is EPERM; a node that the host's root makes in a file
// system of the container's user namespace cannot be opened there (EACCES,
// SB_I_NODEV, Linux 4.8).
func (s Standing) Binds() bool { return s.Other || s.Nested }

// Ruleless reports that device rules can be neither seen nor set from here, and
// that an ordinary user's runtime has set none: device programs and
// devices.allow want CAP_SYS_ADMIN in the first user namespace.
func (s Standing) Ruleless() bool { return s.Nested || s.Enters() }

const rulelessNote = "an ordinary user's containers have no device rules of their own, and no right to set any is here: nothing is changed"
