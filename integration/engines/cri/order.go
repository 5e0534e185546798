package main

// Order is what to do.
type Order struct {
	Name         string
	Handler      string
	CgroupParent string
	LogDir       string
	Image        string
	Args         []string
	Env          map[string]string
	Annotations  map[string]string // of the container
	Mounts       []Mount
	CDI          []string // names in CDIDevices
	Privileged   bool
	Exec         [][]string // run first
	Update       bool       // then ask for other CPU shares
	WaitFor      string     // then wait for a file
	ExecAfter    [][]string // then run these
	Grace        int64      // seconds between SIGTERM and SIGKILL
}

// Mount is one of the container's bind mounts.
type Mount struct{ Host, Container string }

// Report is what came of it.
type Report struct {
	Error     string // where it ended early
	Step      string // the step that it ended in
	Exec      []Said
	ExecAfter []Said
	MS        map[string]int64 // milliseconds by step
}

// Said is the end of a command in the container.
type Said struct {
	Code           int32
	Stdout, Stderr string
}
