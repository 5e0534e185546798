package hook

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/gpu-hook/gpu-hook/hook/fault"
	"github.com/gpu-hook/gpu-hook/hook/state"
)

// firstUserNS is the inode of the system's first user namespace: fixed since
// Linux 3.8 (PROC_USER_INIT_INO, commit 98f842e675f9).
const firstUserNS = 0xEFFFFFFD

// maxIDMap bounds /proc/PID/uid_map in bytes: 340 lines of 33 (Linux 4.15).
const maxIDMap = 64 << 10

// stand finds out where this process stands, and that it is where it should be.
func (c *call) stand() (Standing, error) {
	linux := c.bundle.Spec.Linux
	s, err := stand(c.options.Stage, c.options.Entered != "", c.state.Pid, IDMaps{UIDs: linux.UIDMappings, GIDs: linux.GIDMappings})
	if err != nil {
		return s, fault.New(fault.State, "find out where the hook is", err)
	}
	if s.Inside() {
		err = c.checkInside()
	}
	return s, err
}

// stand finds out where this process stands. Pid is the container's; 0, as for
// a bundle without a container, leaves only the configuration to go by. One
// that cannot be looked at is left to the steps that need it.
func stand(stage state.Stage, entered bool, pid int, configured IDMaps) (Standing, error) {
	own, err := namespace("self", "user")
	if err != nil {
		return Standing{}, err
	}
	s := Standing{
		Stage: stage, Entered: entered, Capable: capable(), UID: uint32(os.Geteuid()),
		Nested: own.ino != firstUserNS,
	}
	switch {
	case s.Inside():
		return s, nil // in the container's user namespace, whatever the state says
	case pid <= 0:
		s.Other, s.Maps = configured.Mapped(), configured
		return s, nil
	}
	theirs, err := namespace(strconv.Itoa(pid), "user")
	if err == nil && theirs == own {
		return s, nil
	}
	if errors.Is(err, unix.ENOENT) { // it has ended, and the next step says so
		s.Other, s.Maps = configured.Mapped(), configured
		return s, nil
	}
	maps, mapErr := readIDMaps(strconv.Itoa(pid))
	if err != nil {
		// Its namespaces are not for everybody to see (ptrace(2), "access
		// mode checking"); its mappings are.
		var mine IDMaps
		if mine, err = readIDMaps("self"); err == nil && mapErr == nil && slices.Equal(mine.UIDs, maps.UIDs) && slices.Equal(mine.GIDs, maps.GIDs) {
			return s, nil
		}
	}
	s.Other, s.Maps = true, maps
	if mapErr != nil || maps.Root() == nil {
		s.Maps = configured
	}
	return s, nil
}

// capable reports the rights that setns(2) needs for a mount namespace.
func capable() bool {
	const wanted = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYS_CHROOT
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	return unix.Capget(&header, &sets[0]) == nil && sets[0].Effective&wanted == wanted
}

// nsID identifies a namespace.
type nsID struct{ dev, ino uint64 }

func (n nsID) String() string { return fmt.Sprintf("%x:%d", n.dev, n.ino) }

// namespace identifies a namespace of a process; "self" is this one.
func namespace(process, kind string) (nsID, error) {
	var st unix.Stat_t
	name := "/proc/" + process + "/ns/" + kind
	if err := unix.Stat(name, &st); err != nil {
		return nsID{}, fmt.Errorf("look at %s: %w", name, err)
	}
	return nsID{st.Dev, st.Ino}, nil
}

// readIDMaps reads the mappings of a process as our user namespace sees them.
func readIDMaps(process string) (m IDMaps, err error) {
	for _, part := range []struct {
		name string
		to   *[]specs.LinuxIDMapping
	}{{"uid_map", &m.UIDs}, {"gid_map", &m.GIDs}} {
		f, err := os.Open("/proc/" + process + "/" + part.name)
		if err != nil {
			return IDMaps{}, err
		}
		text, err := io.ReadAll(io.LimitReader(f, maxIDMap))
		if err = errors.Join(err, f.Close()); err != nil {
			return IDMaps{}, err
		}
		if *part.to, err = parseIDMap(text); err != nil {
			return IDMaps{}, err
		}
	}
	return m, nil
}
