package hook

import "golang.org/x/sys/unix"

// kernelRelease is that of uname -r; two of the firmware search paths have it.
func kernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}
