package devices

// Class is the family a GPU belongs to. Its values are those of the plan's
// gpus[].class.
type Class string

// The classes. TITAN counts as geforce, and a Quadro before the RTX ones as
// unknown: none of them supports forward compatibility.
const (
	DataCenter  Class = "datacenter"
	Workstation Class = "workstation"
	GeForce     Class = "geforce"
	Tegra       Class = "tegra"
	Unknown     Class = "unknown"
)

// ForwardCompat reports whether GPUs of this class support cuda-compat.
func (c Class) ForwardCompat() bool {
	return c == DataCenter || c == Workstation || c == Tegra
}
