// Package driver finds the files of the NVIDIA user-space driver on a host.
//
// What it does: given the version of the loaded kernel module and the driver capabilities a container asked for, [Find] names the
// libraries, binaries, data files, firmware and sockets that belong to it, wherever the distribution put them: through the host's
// loader cache, and where that is missing, stale or silent, through the library directories. [FindWSL] and [FindTegra] do the same
// for the two kinds of host whose files carry no version.
//
// What it refuses to do: it never mixes two driver versions, never names a vendor-neutral library (libGL, libEGL, libOpenCL, libcudart
// and their like belong to the container), never fails over an optional file, and never reads a file except through [mounts.Root], so
// that a link in a driver root cannot lead out of it. It runs nothing, mounts nothing and writes nothing. Where the files end up in the
// container is the business of package hook and package mounts.
//
// The lists are tables: libraries.go, datafiles.go and places.go. A new driver library is one row.
//
// It needs no particular kernel beyond what [mounts.Root] needs.
package driver
