package devices

import "context"

// HostSMI returns an [SMI] that runs the nvidia-smi found below a driver root,
// by absolute path and with an empty environment. Whether there is one turns
// out at the first call.
func HostSMI(root string) SMI {
	return func(ctx context.Context, args ...string) ([]byte, error) {
		path, err := findCommand(root, []string{
			"/usr/bin/nvidia-smi",
			"/usr/local/bin/nvidia-smi",
			"/bin/nvidia-smi",
			"/opt/bin/nvidia-smi",
			"/opt/nvidia/bin/nvidia-smi",
			"/bin/nvidia/bin/nvidia-smi",
			"/home/kubernetes/bin/nvidia/bin/nvidia-smi",
			"/run/current-system/sw/bin/nvidia-smi",
			"/usr/lib/wsl/lib/nvidia-smi",
		})
		if err != nil {
			return nil, err
		}
		return runCommand(ctx, root, append([]string{path}, args...)...)
	}
}
