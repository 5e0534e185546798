// Package fault is the one line that a user sees when a container does not
// start, and the exit code that goes with it.
//
// An [Error] says what was being done, why it did not work and what to do
// about it; [Line] turns any error into the one printable line
// "gpu-hook: WHAT: WHY; WHAT TO DO", and [CodeOf] finds its exit code. Other
// packages need not know this one: an error anywhere in the chain that has a
// method Cure() string contributes the last part.
//
// It does not decide which code an error gets, prints nothing and ends no
// process. It needs no particular kernel.
package fault
