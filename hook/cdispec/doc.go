// Package cdispec makes a CDI specification of a host's GPUs, for engines that
// inject devices themselves: Docker, containerd, CRI-O and Podman.
//
// The specification names devices and their nodes, and for each device our
// hook at createRuntime with "--device NAME". It lists no driver file: the hook
// finds those when a container starts, so that no specification is out of date
// after a driver update, and chooses libcuda for the image at hand.
//
// It decides nothing about GPUs: it asks package hook for the plan of each name.
// It writes no file. It needs no particular kernel.
package cdispec
