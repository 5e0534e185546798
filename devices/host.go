package devices

import "path/filepath"

// Host names the directories in which a host's facts are found. Each of them
// may be somewhere below a stand-in directory.
type Host struct {
	Proc string // Proc is the host's procfs, usually /proc.
	Sys  string // Sys is the host's sysfs, usually /sys.
	Dev  string // Dev holds the host's device nodes, usually /dev.
}

// HostAt returns the host whose root directory is root.
func HostAt(root string) Host {
	return Host{
		Proc: filepath.Join(root, "proc"),
		Sys:  filepath.Join(root, "sys"),
		Dev:  filepath.Join(root, "dev"),
	}
}

// driverProc returns a path below /proc/driver/nvidia.
func (h Host) driverProc(name string) string {
	return h.Proc + "/driver/nvidia/" + name
}
