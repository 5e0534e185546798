// Package request finds out which GPUs a container asks for.
//
// [Parse] is a pure function of the container's environment, mounts and
// annotations and of the configuration. It knows the rules that images,
// engines and schedulers rely on (NVIDIA_VISIBLE_DEVICES and its relatives),
// not the host: names of devices are passed on as they were given.
//
// That a container asks for nothing is found without looking at anything
// else, so that no fault of ours can stop it. It needs no particular kernel.
package request
