package devices

import (
	"context"
	"errors"
	"fmt"
)

// LoadError says that a kernel module could not be loaded.
type LoadError struct {
	Module string
	Err    error
}

func (e *LoadError) Error() string { return fmt.Sprintf("load kernel module %s: %v", e.Module, e.Err) }

// Unwrap gives the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// Cure is the command for a person with more rights.
func (e *LoadError) Cure() string { return "load it as root on the host with: modprobe " + e.Module }

// LoadModules loads kernel modules ("nvidia", "nvidia-uvm", "nvidia-modeset")
// with the host's own tools below root: nvidia-modprobe, which makes the nodes
// as well, or modprobe. Both go by absolute path and with an empty environment.
// The inventory must be read again afterwards.
//
// It needs CAP_SYS_MODULE (nvidia-modprobe is often setuid root), so in a user
// namespace it ends in a [*LoadError]. The caller asks the configuration first.
func LoadModules(ctx context.Context, root string, modules ...string) error {
	var failed []error
	for _, module := range modules {
		if err := loadModule(ctx, root, module); err != nil {
			failed = append(failed, &LoadError{module, err})
		}
	}
	return errors.Join(failed...)
}

func loadModule(ctx context.Context, root, module string) error {
	// nvidia-modprobe(1): without options it loads nvidia; -u loads uvm, -m
	// modeset, and -c names the minor of the node to be made.
	flags := map[string][]string{
		"nvidia":         {"-c=255"},
		"nvidia-uvm":     {"-u", "-c=0"},
		"nvidia-modeset": {"-m"},
	}[module]
	var first error
	if flags != nil {
		path, err := findCommand(root, []string{"/usr/bin/nvidia-modprobe", "/usr/local/bin/nvidia-modprobe", "/opt/nvidia/bin/nvidia-modprobe"})
		if err == nil {
			_, err = runCommand(ctx, root, append([]string{path}, flags...)...)
		}
		if err == nil {
			return nil
		}
		first = err
	}
	path, err := findCommand(root, []string{"/usr/sbin/modprobe", "/sbin/modprobe", "/usr/bin/modprobe", "/run/current-system/sw/bin/modprobe"})
	if err == nil {
		_, err = runCommand(ctx, root, path, "--", module)
	}
	if err == nil {
		return nil
	}
	return errors.Join(first, err)
}
