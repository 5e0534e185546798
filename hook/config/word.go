package config

// The words that single settings take. Each type lists all of its words in
// [words]; anything else is refused with the line it stands on.
type (
	// AcceptEnv says whether an image's environment may ask for GPUs.
	AcceptEnv string
	// OnProblem says whether a container fails or starts with a warning.
	OnProblem string
	// Layout says where driver files lie in the container.
	Layout string
	// ProcMode says how much of /proc/driver/nvidia the container sees.
	ProcMode string
	// CgroupMode says whether device rules are set.
	CgroupMode string
	// Access is the access part of device rules.
	Access string
	// CompatMode steers the compat overlay.
	CompatMode string
	// LogLevel is the least important level that is written.
	LogLevel string
	// LogFormat is the form of a log line.
	LogFormat string
)

// The words themselves.
const (
	EnvAlways     AcceptEnv = "always"     // anybody's environment
	EnvPrivileged AcceptEnv = "privileged" // only with CAP_SYS_ADMIN
	EnvNever      AcceptEnv = "never"      // nobody's

	Fail OnProblem = "fail"
	Warn OnProblem = "warn"
	Auto OnProblem = "auto" // fail where a user asked, warn otherwise

	LayoutPrivate Layout = "private" // one read-only mount of our own
	LayoutDirect  Layout = "direct"  // each file in the library directory

	ProcParams ProcMode = "params" // the params file says that device files are not to be made
	ProcGPUs   ProcMode = "gpus"   // the same, and only the selected GPUs' directories
	ProcOff    ProcMode = "off"    // left as it is, for nested containers

	CgroupAuto CgroupMode = "auto"
	CgroupOff  CgroupMode = "off"

	AccessRW  Access = "rw"
	AccessRWM Access = "rwm" // also the right to make these very nodes

	CompatAuto  CompatMode = "auto"
	CompatOff   CompatMode = "off"
	CompatForce CompatMode = "force"

	LevelDebug LogLevel = "debug"
	LevelInfo  LogLevel = "info"
	LevelWarn  LogLevel = "warn"
	LevelError LogLevel = "error"

	FormatText LogFormat = "text"
	FormatJSON LogFormat = "json"
)

// capabilities are the driver capabilities there are, in the documented order.
var capabilities = [...]string{"compute", "utility", "video", "graphics", "display", "ngx", "compat32"}

// Capabilities lists the driver capabilities there are.
func Capabilities() []string { return append([]string(nil), capabilities[:]...) }
