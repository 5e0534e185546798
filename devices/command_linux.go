package devices

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"syscall"
	"time"

	securejoin "github.com/cyphar/filepath-securejoin"
)

// commandTime is how long a host command may take. nvidia-smi -L needs up to
// three seconds for each GPU that is not initialised; modprobe waits for the
// driver to find its GPUs.
const commandTime = 60 * time.Second

// maxOutput bounds what is kept of a command's output: nvidia-smi -q -x writes
// some 25 KiB for a GPU and 2 KiB for each MIG device.
const maxOutput = 4 << 20

var errNoCommand = errors.New("command not found on the host")

// findCommand returns the first of some absolute paths that is there below
// root. Links are followed inside root, as the command's own system would.
func findCommand(root string, paths []string) (string, error) {
	for _, path := range paths {
		full, err := securejoin.SecureJoin(root, path)
		if err == nil && exists(full) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: none of %v below %s", errNoCommand, paths, root)
}

// runCommand runs a command of the host below root with an empty environment:
// the hook's own can come from an image. If root is not "/", it is the command's
// root, since a driver's programs need its libraries; only where root has not
// even the command's interpreter is it run as it is.
func runCommand(ctx context.Context, root string, argv ...string) ([]byte, error) {
	full, err := securejoin.SecureJoin(root, argv[0])
	if err != nil {
		return nil, err
	}
	if root == "/" || root == "" {
		return start(ctx, full, "", argv)
	}
	out, err := start(ctx, argv[0], root, argv)
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) {
		return start(ctx, full, "", argv)
	}
	return out, err
}

func start(ctx context.Context, path, root string, argv []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	stdout, stderr := &limited{max: maxOutput}, &limited{max: 512}
	cmd := exec.CommandContext(ctx, path)
	cmd.Args = argv
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = time.Second
	if root != "" {
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	}
	if err := cmd.Run(); err != nil {
		if text := bytes.TrimSpace(stderr.data); len(text) > 0 {
			return nil, fmt.Errorf("run %s: %w: %.200q", argv[0], err, text)
		}
		return nil, fmt.Errorf("run %s: %w", argv[0], err)
	}
	return stdout.data, nil
}

// limited keeps the first max bytes and takes the rest, so that the writer is
// not stopped.
type limited struct {
	data []byte
	max  int
}

func (l *limited) Write(p []byte) (int, error) {
	if room := l.max - len(l.data); room > 0 {
		l.data = append(l.data, p[:min(room, len(p))]...)
	}
	return len(p), nil
}
