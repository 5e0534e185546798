package request

// The variables that images, engines and schedulers set. Their meaning is that
// of NVIDIA's container toolkit (its user guide, "Environment variables").
const (
	visibleDevices     = "NVIDIA_VISIBLE_DEVICES"
	driverCapabilities = "NVIDIA_DRIVER_CAPABILITIES"
	imexChannels       = "NVIDIA_IMEX_CHANNELS"
	migConfigDevices   = "NVIDIA_MIG_CONFIG_DEVICES"
	migMonitorDevices  = "NVIDIA_MIG_MONITOR_DEVICES"
	disableRequire     = "NVIDIA_DISABLE_REQUIRE"
	requireCUDA        = "NVIDIA_REQUIRE_CUDA"
	cudaVersion        = "CUDA_VERSION"

	gds      = "NVIDIA_GDS"
	mofed    = "NVIDIA_MOFED"
	gdrcopy  = "NVIDIA_GDRCOPY"
	nvswitch = "NVIDIA_NVSWITCH"
)

// enabled is the only value that turns one of the last four on.
const enabled = "enabled"

// The words that stand for no single device. nvidia-container-cli takes "all"
// in any case; so is it here for all three.
const (
	allWord  = "all"
	noneWord = "none" // driver files, no devices
	voidWord = "void" // not a GPU container
)

// legacyImage reports an image from before NVIDIA_REQUIRE_CUDA: CUDA images of
// that time expect every GPU without asking for any.
func (e Env) legacyImage() bool {
	return e.Get(cudaVersion) != "" && e.Get(requireCUDA) == ""
}
