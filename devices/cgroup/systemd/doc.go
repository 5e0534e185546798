// Package systemd asks systemd about one unit's device policy and adds devices
// to it, over one connection to the system bus.
//
// It refuses to do anything else: no jobs, no other properties, no signals, and
// never a call with an empty unit name, which systemd takes for the caller's
// own unit. Every call ends with its context.
//
// The bus library is godbus alone: go-systemd opens two connections for each
// Conn. Linking it costs 0.13 ms of process start; a connection about 0.8 ms
// and SetUnitProperties 1.3 to 2.2 ms of systemd's time (2 cores, systemd 252).
package systemd
