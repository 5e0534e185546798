// Command demo shows the main job of gpu-hook to a person: a container that
// asks for GPUs gets these, their driver, and nothing else.
//
// On a machine with NVIDIA GPUs the container gets real ones. Elsewhere a
// directory stands in for a host with eight GPUs; no driver answers behind its
// nodes, which still shows which of them the container may open.
package main
