package fault

import "errors"

// Code is the exit code of the process. Engines that drop a hook's standard
// error (crun, CRI-O) still report it.
type Code int

// The exit codes, in the order of the table in the documentation.
const (
	Done         Code = 0  // done, or no GPU asked for
	Other        Code = 1  // anything that has no code of its own
	Usage        Code = 2  // the command line
	State        Code = 10 // the state on standard input or the bundle is unreadable
	Request      Code = 11 // the request is invalid or not allowed
	Driver       Code = 12 // no driver, or "all" and no working GPU
	Mismatch     Code = 13 // kernel module and driver files disagree
	Incompatible Code = 14 // a requirement is not satisfied, or the CUDA versions do not fit
	Node         Code = 15 // a device node
	Cgroup       Code = 16 // cgroup device rules
	Mount        Code = 17 // a mount or the loader's files
	Path         Code = 18 // a path in the rootfs is a loop, of the wrong kind, or changed under us
	Config       Code = 19 // the configuration is invalid
)

// CodeOf is the exit code of the outermost [Error] in err's chain: Done for a
// nil error, Other where there is no [Error].
func CodeOf(err error) Code {
	if err == nil {
		return Done
	}
	var f *Error
	if errors.As(err, &f) {
		return f.Code
	}
	return Other
}
