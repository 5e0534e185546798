// Package record keeps what each running container was given, so that it can be
// shown and put back: one small JSON file per container in a directory of the
// host that is emptied at boot (/run/gpu-hook).
//
// A record belongs to a process: pid and start time together, since a pid is
// used again. Files are written beside and renamed, for root alone. A record
// whose process is gone is removed whenever the directory is read or written.
//
// It decides nothing and changes no container. It needs no particular kernel.
package record
