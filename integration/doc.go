// Package integration tests gpu-hook as a whole: real runtimes, a real kernel,
// NVIDIA's real files and no GPU. Nothing here is part of the program.
//
// Package lab builds hosts, roots and bundles, package need says what a test
// needs of the machine. Tests change nothing outside their temporary folders,
// private mount namespaces and cgroups of their own. They need Linux 5.12 for
// all of them; fewer run on older kernels.
package integration
