// Package pciid tells which chip is behind a PCI device id of NVIDIA and which
// compute capability that chip has, from tables that are part of the binary.
//
// It covers GPUs from Kepler on. What is not in the tables is unknown and is
// never guessed. Product names and classes are no part of it: the driver's own
// word for a model decides those.
//
// The device table is generated; see the sub-directory gen:
//
//	go run -tags gen ./devices/pciid/gen /usr/share/misc/pci.ids > devices/pciid/table.go
//
// It reads no file at run time and needs no particular kernel.
package pciid
