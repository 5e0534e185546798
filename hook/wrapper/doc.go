// Package wrapper is "gpu-hook runtime": an OCI runtime that puts a container's
// GPUs into its config.json and then becomes runc or crun.
//
// What it does: it finds the command in an argument list of either runtime,
// and for create and run adds to the bundle's config.json our hook, device
// nodes, device rules and group ids, so that the runtime and systemd know them
// from the start. Then it executes the runtime in its own place.
//
// What it refuses to do: it changes no argument and no environment, reads no
// bundle for other commands, writes nothing for a container that asks for no
// GPU or for a pod's sandbox, and never looks for the runtime in the caller's
// PATH. It removes nothing from a config.json. Driver files, loader and compat
// are the hook's, once the container's root is there.
//
// It needs Linux 3.17 for itself.
package wrapper
