package lab

import "fmt"

// Cell names a line of the table of who starts a container with what: who
// starts it, the cgroup manager, the cgroup layout, the runtime, and
// net.core.bpf_jit_harden with kernel.kptr_restrict, "any" where that makes no
// difference.
func Cell(who, manager, layout, runtime, hardening string) string {
	return fmt.Sprintf("%-7s%-9s%-7s%-13s%s", who, manager, layout, runtime, hardening)
}
