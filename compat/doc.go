// Package compat decides which CUDA driver library (libcuda) a container
// gets: the host's own, or a newer one from a cuda-compat package.
//
// It knows which CUDA version each driver branch supports, finds out which
// CUDA runtime an image holds, finds the cuda-compat sets in the image and on
// the host, evaluates the image's NVIDIA_REQUIRE_ expressions, and explains
// its decision in one sentence. [Decide], [Hide] and [CheckRequirements] are
// pure functions; [DetectRuntime], [FindOverlays] and [FindHostOverlays] only
// read, through an [io/fs.FS].
//
// What it refuses to do: it changes nothing, mounts nothing and runs nothing;
// no code of an image is executed or parsed as code. It never walks an image,
// only a fixed list of directories is looked at, each read and each directory
// listing has a limit, and it opens only regular files. The file system handed
// in must keep every name inside the container's root and must refuse FIFOs
// and devices when they are opened; links are resolved here only to learn the
// name that the container itself will see.
//
// It makes no system calls of its own and needs no particular kernel.
package compat
