// Package hook turns what a runtime hands over (OCI state, bundle) and what the
// host has (driver, GPUs) into a [Plan], and carries the plan out.
//
// It has three steps, each with its own type: [Gather] reads facts and changes
// nothing; [Build] is a pure function from [Facts] to [Plan]; [Plan.Apply] does
// what the plan says and decides nothing. "gpu-hook plan" stops after the second.
//
// It does not parse the formats of the kernel, of the driver or of glibc: that
// is for the packages devices, mounts and compat, which know nothing of each
// other. It starts no process and runs nothing from the image.
//
// It needs Linux 4.18; from 5.12 on all mount calls used are present.
package hook
