package hook

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// RunDir is where gpu-hook keeps what it must remember between two runs: on a
// tmpfs of the host, for root alone.
const RunDir = "/run/gpu-hook"

// runDir is [RunDir] for root. An ordinary user, who is the root of a user
// namespace in rootless podman's hooks, has a directory of the same kind, and
// remembers nothing where there is none.
func (s Standing) runDir() string {
	if !s.Nested && s.UID == 0 {
		return RunDir
	}
	for _, dir := range s.userDirs() {
		var st unix.Stat_t
		if filepath.IsAbs(dir) && unix.Lstat(dir, &st) == nil &&
			st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Uid == s.UID && st.Mode&0o022 == 0 {
			return filepath.Join(dir, "gpu-hook")
		}
	}
	return ""
}

// userDirs are where the user's runtime directory may be: 0700 and theirs alone
// (XDG base directory specification 0.8). The environment names it, but inside
// of a container that is the image's; pam_systemd(8) makes it in /run/user.
func (s Standing) userDirs() []string {
	var dirs []string
	if !s.Inside() {
		dirs = append(dirs, os.Getenv("XDG_RUNTIME_DIR"))
	}
	id := s.UID
	if s.Nested {
		// Seen from inside, the second number is the id in the namespace above.
		if own, err := readIDMaps("self"); err == nil {
			id = fromContainer(own.UIDs, id)
		}
	}
	return append(dirs, "/run/user/"+strconv.FormatUint(uint64(id), 10))
}
