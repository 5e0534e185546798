// Command gpu-hook-installer is what the DaemonSet runs on each node: it puts
// gpu-hook on the host, has it configure the container engine, restarts that,
// and waits. When it is told to end (SIGTERM: the DaemonSet is removed or
// updated) it takes everything back.
//
//	gpu-hook-installer --root /host [--bin-dir /usr/local/bin] [--engine containerd]
//	                   [--unit containerd.service] [--file F] [-- options of configure]
//
// The host's files are reached below --root only; a link that leads out of it
// is refused. It talks to the host's systemd over the bus socket below --root,
// and to nothing else: no shell, no API server, no registry. A file of the name
// gpu-hook that is not ours is left alone. It needs Linux 4.18.
package main
