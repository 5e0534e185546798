// Command bench measures gpu-hook against the bare system calls, or as part of
// docker run.
//
// It runs containers in pairs, on overlayfs, with 8 GPUs and all compute,
// utility and video files: one with the hook, one with the reference program
// barecalls, which does the same mounts, links, nodes and files and nothing
// else. The whole process is timed, from before its start to after its end. It
// prints medians, the ratio, where the hook's time goes, memory and size.
//
// With -engine docker it runs docker run --gpus all with the hook against plain
// docker run of the same image, and with -peer-cdi against docker run --device
// of a CDI specification, too. dockerd runs in a private view of the machine,
// with data, /etc and /run of its own; it needs root, overlayfs and a cgroup
// hierarchy that can be written. The time is the client's, from start to end.
//
// Compare numbers within one run only: machines and moments differ.
package main
