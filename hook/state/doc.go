// Package state reads what a runtime hands an OCI hook: the state on standard
// input and the bundle's config.json.
//
// Of config.json only a narrow view is decoded ([Spec]), made of the types of
// the runtime specification: the full type costs more than the rest of the
// hook's start. Nothing is decided here but whether the input can be used.
//
// Both come from the runtime and the engine, which are trusted to mean well,
// but not to be free of mistakes: sizes and times are bounded, FIFOs and
// devices are refused, and no input ends in a panic. Strings inside are the
// image's and the user's.
//
// It needs no particular kernel.
package state
