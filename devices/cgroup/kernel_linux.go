package cgroup

import (
	"os"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/bpf"
)

// programName marks our programs for people who look with bpftool. Nothing
// depends on it: what a program grants is read from its text.
const programName = "gpu_hook"

// systemdProgram is the name of systemd's device programs since 251 (systemd
// pull request 22214). The runtimes' have none.
const systemdProgram = "sd_devices"

// kernel is the seam at the system calls for device programs, so that tests can
// be an old kernel, a hardened one, or one that fails in the middle.
type kernel interface {
	query(cgroup *os.File) (bpf.Attached, error)
	effective(cgroup *os.File) (bpf.Attached, error)
	open(id uint32) (*bpf.Program, error)
	load(text []byte) (*bpf.Program, error)
	replace(cgroup *os.File, program, old *bpf.Program) error
	attach(cgroup *os.File, program *bpf.Program, flags uint32) error
	detach(cgroup *os.File, program *bpf.Program) error
}

// bpfKernel is the real one.
type bpfKernel struct{}

func (bpfKernel) query(cgroup *os.File) (bpf.Attached, error) { return bpf.Query(cgroup) }

func (bpfKernel) effective(cgroup *os.File) (bpf.Attached, error) { return bpf.QueryEffective(cgroup) }

func (bpfKernel) open(id uint32) (*bpf.Program, error) { return bpf.Open(id) }

func (bpfKernel) load(text []byte) (*bpf.Program, error) { return bpf.Load(programName, text) }

func (bpfKernel) replace(cgroup *os.File, program, old *bpf.Program) error {
	return bpf.Replace(cgroup, program, old)
}

func (bpfKernel) attach(cgroup *os.File, program *bpf.Program, flags uint32) error {
	return bpf.Attach(cgroup, program, flags)
}

func (bpfKernel) detach(cgroup *os.File, program *bpf.Program) error {
	return bpf.Detach(cgroup, program)
}
