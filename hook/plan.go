package hook

import (
	"cmp"
	"path"
	"strconv"
	"strings"
)

// PlanVersion is the version of the plan's JSON form. Fields may be added
// under the same version; those that exist keep their meaning.
const PlanVersion = 1

// Action says whether the container gets anything at all.
type Action string

// The two actions of a plan.
const (
	Inject Action = "inject" // the container gets what the plan lists
	None   Action = "none"   // nothing is done; Plan.Reason says why
)

// A Plan is everything that is done to one container, as plain data. Its lists
// are sorted and stable: the same facts give the same plan byte for byte.
type Plan struct {
	Version     int          `json:"version"`
	Action      Action       `json:"action"`
	Reason      string       `json:"reason"`
	Container   ContainerRef `json:"container"`
	Request     RequestRef   `json:"request"`
	Driver      DriverRef    `json:"driver"`
	GPUs        []GPURef     `json:"gpus"`
	MIG         []MIGRef     `json:"mig,omitempty"`
	DeviceNodes []DeviceNode `json:"deviceNodes"`
	DeviceRules []DeviceRule `json:"deviceRules"`
	RulesNote   string       `json:"deviceRulesNote,omitempty"` // why they are not set
	Tree        string       `json:"tree,omitempty"`            // the private read-only mount; "" in layout "direct"
	Mounts      []Mount      `json:"mounts"`
	Texts       []Text       `json:"texts,omitempty"` // small files of our own, below Tree
	Symlinks    []Symlink    `json:"symlinks"`
	Hidden      []string     `json:"hidden,omitempty"` // directories covered by an empty read-only mount
	Loader      Loader       `json:"loader"`
	Compat      Compat       `json:"compat"`
	Proc        *ProcParams  `json:"proc,omitempty"` // the container's view of /proc/driver/nvidia
	Warnings    []Warning    `json:"warnings"`
	Notes       []string     `json:"notes,omitempty"` // what the host does without, and need not have; not logged
	Exit        *Exit        `json:"exit,omitempty"`  // only from "gpu-hook plan": how the hook would end
}

// ContainerRef names the container and where its files lie on the host.
type ContainerRef struct {
	ID     string `json:"id"`
	PID    int    `json:"pid"`
	Bundle string `json:"bundle"`
	Rootfs string `json:"rootfs"`
	Entry  Entry  `json:"entry,omitempty"` // the way into its mount namespace
	Owner  *Owner `json:"owner,omitempty"` // whose files are made there, in the host's ids; absent = the hook's own
}

// RequestRef is what the container asked for, as given.
type RequestRef struct {
	Source       string   `json:"source"`
	Devices      []string `json:"devices"`
	Capabilities []string `json:"capabilities"`
}

// DriverRef is the host's driver: the kernel module's version, the CUDA version
// it supports ("" when unknown) and the directory its files were looked for in.
type DriverRef struct {
	Version string `json:"version"`
	CUDA    string `json:"cuda"`
	Root    string `json:"root"`
}

// GPURef is one selected GPU.
type GPURef struct {
	Index             int    `json:"index"`
	Minor             int    `json:"minor"`
	UUID              string `json:"uuid"`
	BusID             string `json:"busId"`
	Model             string `json:"model"`
	Class             string `json:"class"`
	ComputeCapability string `json:"computeCapability,omitempty"`
}

// MIGRef is one selected MIG device: its GPU's index, its instance ids, and its
// position on the GPU in the order of nvidia-smi -L.
type MIGRef struct {
	GPU      int    `json:"gpu"`
	Position int    `json:"position"`
	GI       int    `json:"gi"`
	CI       int    `json:"ci"`
	UUID     string `json:"uuid,omitempty"` // known only if it was asked for by UUID
}

// DeviceNode is one node in the container. UID and GID are ids as the
// container sees them.
type DeviceNode struct {
	Path   string `json:"path"`
	Type   string `json:"type"` // "c"
	Major  uint32 `json:"major"`
	Minor  uint32 `json:"minor"`
	Mode   string `json:"mode"` // octal, "0666"
	UID    uint32 `json:"uid"`
	GID    uint32 `json:"gid"`
	Method string `json:"method"`           // MethodMknod, MethodBind or MethodKept
	Source string `json:"source,omitempty"` // the host's node, where there is one
}

// DeviceRule is one cgroup device rule: exact numbers, never a wildcard.
type DeviceRule struct {
	Type   string `json:"type"`
	Major  uint32 `json:"major"`
	Minor  uint32 `json:"minor"`
	Access string `json:"access"`
}

// Mount is one bind mount. Source is a host path; Target is a path in the
// container, below Plan.Tree for the private tree's files.
type Mount struct {
	Source   string   `json:"source"`
	Target   string   `json:"target"`
	Options  []string `json:"options"`
	Cover    bool     `json:"cover,omitempty"`    // Target is a file of the image and is covered
	Optional bool     `json:"optional,omitempty"` // failing to mount it is a warning
}

// Symlink is one link in the container; Target is the text of the link.
type Symlink struct {
	Path     string `json:"path"`
	Target   string `json:"target"`
	Replaces string `json:"replaces,omitempty"` // the text of the link there that it takes the place of
	Optional bool   `json:"optional,omitempty"` // failing to make it is a warning
}

// Loader is what is done for the container's dynamic loader.
type Loader struct {
	Kind      string          `json:"kind,omitempty"` // "glibc", "musl", "none"
	Cache     string          `json:"cache"`          // "merge", "write", "leave" or "none"
	Dirs      []string        `json:"dirs"`
	Libraries []LoaderLibrary `json:"libraries,omitempty"`
}

// LoaderLibrary is one entry of the loader cache.
type LoaderLibrary struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Bits int    `json:"bits"` // 64 or 32
}

// Compat is the compatibility decision and its reason.
type Compat struct {
	Decision      string `json:"decision"`
	DriverCUDA    string `json:"driverCUDA"`
	RuntimeCUDA   string `json:"runtimeCUDA"`
	RuntimeSource string `json:"runtimeSource"`
	Overlay       string `json:"overlay"` // the directory as the container sees it
	Reason        string `json:"reason"`
	// Notes are sentences on how RuntimeCUDA was found.
	Notes []string `json:"notes,omitempty"`
}

// ProcParams says how /proc/driver/nvidia looks in the container.
type ProcParams struct {
	Mode   string   `json:"mode"`             // "params" or "gpus"
	Params string   `json:"params,omitempty"` // the content that the container sees; "" = it needs no change
	GPUs   []string `json:"gpus,omitempty"`   // directory names that stay visible
	// Capabilities are the files of the capability tree that stay visible; nil =
	// the whole tree does.
	Capabilities []string `json:"capabilities,omitempty"`
	Note         string   `json:"note,omitempty"` // why nothing is done
}

// Text is a small file with content of our own.
type Text struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// TextDir is where the files with content of our own are.
func (p Plan) TextDir() string { return path.Join(cmp.Or(p.Tree, TextTree), treeFiles) }

// Warning is something that was left out or that may surprise. Code is stable,
// Message is one sentence with the cure.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// nodesOfGPUs counts the GPUs that have a node in the plan: in a /dev that is a
// user's volume it may be none. A WSL2 system has one node for all.
func (p Plan) nodesOfGPUs() int {
	n := 0
	for _, d := range p.DeviceNodes {
		rest, ok := strings.CutPrefix(d.Path, "/dev/nvidia")
		if _, err := strconv.Atoi(rest); ok && err == nil || d.Path == "/dev/dxg" || strings.HasPrefix(d.Path, "/dev/nvhost") {
			n++
		}
	}
	return n
}

// filled replaces missing lists by empty ones, so that a reader of the JSON
// form finds a list in each place.
func (p Plan) filled() Plan {
	fill(&p.Request.Devices)
	fill(&p.Request.Capabilities)
	fill(&p.GPUs)
	fill(&p.DeviceNodes)
	fill(&p.DeviceRules)
	fill(&p.Mounts)
	fill(&p.Symlinks)
	fill(&p.Loader.Dirs)
	fill(&p.Warnings)
	return p
}

func fill[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}

// Exit is the exit code and the line that the hook would end with. Cure is the
// line's last part: what the user can do.
type Exit struct {
	Code int    `json:"code"`
	Line string `json:"line"`
	Cure string `json:"cure,omitempty"`
}
