// Command barecalls is the yardstick of "make bench": it does the system calls
// that give a container its driver files, nodes and loader cache, and nothing
// else. It finds nothing out, checks nothing and decides nothing: what to do
// comes as a list, written beforehand from the plan of a real run.
//
// It is used as an OCI hook: the state on stdin, the list as its argument. It
// must never be used for anything but measuring, since it trusts the rootfs.
// It needs Linux 5.12.
package main
