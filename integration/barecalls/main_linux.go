package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// list is what to do, in this order.
type list struct {
	Rootfs string `json:"rootfs"` // absolute, as the runtime's mount namespace has it
	Tree   string `json:"tree"`   // "usr/local/nvidia", below the rootfs
	Files  []pair `json:"files"`  // host file -> path in the tree
	Links  []pair `json:"links"`  // target -> path in the tree
	Places []pair `json:"places"` // target -> path below the rootfs
	Nodes  []node `json:"nodes"`
	Writes []pair `json:"writes"` // host file with the content -> path below the rootfs
}

type pair struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type node struct {
	Path  string `json:"path"` // below the rootfs
	Major uint32 `json:"major"`
	Minor uint32 `json:"minor"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "barecalls:", err)
		os.Exit(1)
	}
}

func run() error {
	state, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	var l list
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	unix.Umask(0)
	clones, err := clone(l.Files)
	if err != nil {
		return err
	}
	writes, err := read(l.Writes)
	if err != nil {
		return err
	}
	if err := enter(pid(state)); err != nil {
		return err
	}
	if err := os.Chdir(l.Rootfs); err != nil {
		return err
	}
	if err := tree(l, clones); err != nil {
		return err
	}
	for _, p := range l.Places {
		err := unix.Symlink(p.From, p.To)
		if errors.Is(err, fs.ErrNotExist) {
			if err := os.MkdirAll(filepath.Dir(p.To), 0o755); err != nil {
				return err
			}
			err = unix.Symlink(p.From, p.To)
		}
		if err != nil {
			return fmt.Errorf("symlink %s: %w", p.To, err)
		}
	}
	for _, n := range l.Nodes {
		if dir := filepath.Dir(n.Path); dir != "dev" {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		if err := unix.Mknod(n.Path, unix.S_IFCHR|0o666, int(unix.Mkdev(n.Major, n.Minor))); err != nil {
			return fmt.Errorf("mknod %s: %w", n.Path, err)
		}
	}
	for i, p := range l.Writes {
		if err := os.MkdirAll(filepath.Dir(p.To), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(p.To+".new", writes[i], 0o644); err != nil {
			return err
		}
		if err := unix.Rename(p.To+".new", p.To); err != nil {
			return err
		}
	}
	return nil
}

// pid finds the number behind "pid": in the state.
func pid(state []byte) int {
	_, rest, _ := bytes.Cut(state, []byte(`"pid":`))
	digits := bytes.TrimSpace(rest)
	for i, c := range digits {
		if c < '0' || c > '9' {
			digits = digits[:i]
			break
		}
	}
	n, _ := strconv.Atoi(string(digits)) // 0 is no process: setns will say so.
	return n
}

// clone takes a detached mount of each host file.
func clone(files []pair) ([]int, error) {
	clones := make([]int, len(files))
	for i, f := range files {
		fd, err := unix.OpenTree(unix.AT_FDCWD, f.From, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return nil, fmt.Errorf("open_tree %s: %w", f.From, err)
		}
		clones[i] = fd
	}
	return clones, nil
}

func read(files []pair) ([][]byte, error) {
	texts := make([][]byte, len(files))
	for i, f := range files {
		var err error
		if texts[i], err = os.ReadFile(f.From); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// enter joins the container's mount namespace on this thread, for good.
func enter(pid int) error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	ns, err := unix.Open(fmt.Sprintf("/proc/%d/ns/mnt", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the mount namespace of %d: %w", pid, err)
	}
	if err := unix.Setns(ns, unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("setns: %w", err)
	}
	return nil
}

// tree mounts the private tree and fills it.
func tree(l list, clones []int) error {
	if err := os.MkdirAll(l.Tree, 0o755); err != nil {
		return err
	}
	mount, err := tmpfs()
	if err != nil {
		return err
	}
	if err := unix.MoveMount(mount, "", unix.AT_FDCWD, l.Tree, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount %s: %w", l.Tree, err)
	}
	made := map[string]bool{".": true}
	dir := func(path string) error {
		if parent := filepath.Dir(path); !made[parent] {
			made[parent] = true
			return os.MkdirAll(filepath.Join(l.Tree, parent), 0o755)
		}
		return nil
	}
	for i, f := range l.Files {
		if err := dir(f.To); err != nil {
			return err
		}
		fd, err := unix.Openat(mount, f.To, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o444)
		if err != nil {
			return fmt.Errorf("create %s: %w", f.To, err)
		}
		if err := unix.MoveMount(clones[i], "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
			return fmt.Errorf("move_mount %s: %w", f.To, err)
		}
		if err := unix.Close(fd); err != nil {
			return err
		}
	}
	for _, k := range l.Links {
		if err := dir(k.To); err != nil {
			return err
		}
		if err := unix.Symlinkat(k.From, mount, k.To); err != nil {
			return fmt.Errorf("symlink %s: %w", k.To, err)
		}
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(mount, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("mount_setattr: %w", err)
	}
	return nil
}

// tmpfs makes a detached tmpfs of one megabyte.
func tmpfs() (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("fsopen: %w", err)
	}
	for _, option := range [][2]string{{"source", "gpu-hook"}, {"size", "1m"}, {"mode", "0755"}} {
		if err := unix.FsconfigSetString(fs, option[0], option[1]); err != nil {
			return -1, fmt.Errorf("fsconfig %s: %w", option[0], err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("fsconfig: %w", err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("fsmount: %w", err)
	}
	return fd, nil
}
