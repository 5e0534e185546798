package mounts

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// User is whom a container's user namespace has as its root, in the ids of the
// caller's own user namespace. A file system that was mounted in the container's
// user namespace, such as the tmpfs at its /dev, has no place for ids that this
// namespace does not map: whatever user 0 of the host makes there fails with
// EOVERFLOW.
type User struct{ UID, GID uint32 }

// errNotTaken says that the kernel kept the old id: setfsuid(2) and setfsgid(2)
// report no error.
var errNotTaken = errors.New("the kernel did not take the id")

// become makes the calling thread create files as the user, and keep every
// right that it has: taking a fsuid other than 0 drops the capabilities that
// concern files from the effective set (capabilities(7)), so they are raised
// again. The thread must be locked and not be used for anything else afterwards.
func (u User) become() error {
	for _, id := range []struct {
		name string
		set  func(int) (int, error)
		id   int
	}{{"setfsgid", unix.SetfsgidRetGid, int(u.GID)}, {"setfsuid", unix.SetfsuidRetUid, int(u.UID)}} {
		if _, err := id.set(id.id); err != nil {
			return fmt.Errorf("become the container's root: %s %d: %w", id.name, id.id, err)
		}
		// -1 is no id and changes nothing; the answer is the one in force.
		if now, err := id.set(-1); err != nil || now != id.id {
			return fmt.Errorf("become the container's root: %s %d: %w", id.name, id.id, errors.Join(errNotTaken, err))
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData // 64 capabilities, 32 in each
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("become the container's root: capget: %w", err)
	}
	for i := range sets {
		sets[i].Effective = sets[i].Permitted
	}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("become the container's root: capset: %w", err)
	}
	return nil
}
