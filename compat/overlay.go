package compat

import "debug/elf"

// Overlay is one set of cuda-compat libraries: one directory and one version.
type Overlay struct {
	// Dir is the directory with links resolved, as the container sees it, or,
	// if Host is set, as the host sees it below the root that was searched.
	Dir string
	// Names are the paths under which the directory was found, Dir included.
	Names []string
	// Host says that the set lies on the host and not in the image.
	Host bool
	// Driver is the version of the set, from the name of its libcuda.
	Driver Driver
	// CUDA is the version that its libcuda supports, from the note if it names
	// one, else from the branch table.
	CUDA CUDA
	// Machine is what its libcuda was made for.
	Machine elf.Machine
	// Note is what its libcuda says about itself; nil if it says nothing.
	Note *Note
	// Members are the usable libraries of the set, libcuda.so.1 first.
	Members []Member
	// Missing are the SONAMEs that such a set should have but lacks.
	Missing []string
	// Linked says that libcuda.so.1 in the directory leads to this set, so
	// that a program with the directory in LD_LIBRARY_PATH loads it.
	Linked bool
	// Problem says why the set cannot be used; "" if it can.
	Problem string
}

// Member is one library of an overlay.
type Member struct {
	// SONAME is the name that programs load it by, such as "libcuda.so.1".
	SONAME string
	// File is its name in the overlay's directory.
	File string
}
