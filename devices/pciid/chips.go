package pciid

// chip is an index into chips.
type chip uint8

// The chips, oldest family first.
const (
	gk104 chip = iota // Kepler.
	gk106
	gk107
	gk110
	gk180
	gk208
	gk210
	gm107 // Maxwell.
	gm108
	gm200
	gm204
	gm206
	gp100 // Pascal.
	gp102
	gp104
	gp106
	gp107
	gp108
	gv100 // Volta.
	tu102 // Turing.
	tu104
	tu106
	tu116
	tu117
	ga100 // Ampere.
	ga102
	ga103
	ga104
	ga106
	ga107
	ad102 // Ada.
	ad103
	ad104
	ad106
	ad107
	gh100 // Hopper.
	gb100 // Blackwell.
	gb102
	gb110
	gb112
	gb120
	gb10b
	gb202
	gb203
	gb205
	gb206
	gb207
	gb20b
	gr100 // Rubin.
	gr102
)

// chips gives each chip its name and compute capability. An empty capability
// means that no document names one.
//
// Sources: NVIDIA's pages "CUDA GPU Compute Capability" and "Legacy CUDA GPU
// Compute Capability" (read November 2026) give capabilities by product, the
// device table gives the product's chip. GB10B is 11.0 since CUDA 13 and was
// called 10.1 before (CUDA 13.0 release notes). Rubin is on neither page yet:
// 10.7 is the target sm_107 of CUDA 13.4's ptxas and of LLVM's NVPTX back end.
// GB120 is in the device table only.
var chips = [...]struct{ name, capability string }{
	gk104: {"GK104", "3.0"},
	gk106: {"GK106", "3.0"},
	gk107: {"GK107", "3.0"},
	gk110: {"GK110", "3.5"},
	gk180: {"GK180", "3.5"},
	gk208: {"GK208", "3.5"},
	gk210: {"GK210", "3.7"},
	gm107: {"GM107", "5.0"},
	gm108: {"GM108", "5.0"},
	gm200: {"GM200", "5.2"},
	gm204: {"GM204", "5.2"},
	gm206: {"GM206", "5.2"},
	gp100: {"GP100", "6.0"},
	gp102: {"GP102", "6.1"},
	gp104: {"GP104", "6.1"},
	gp106: {"GP106", "6.1"},
	gp107: {"GP107", "6.1"},
	gp108: {"GP108", "6.1"},
	gv100: {"GV100", "7.0"},
	tu102: {"TU102", "7.5"},
	tu104: {"TU104", "7.5"},
	tu106: {"TU106", "7.5"},
	tu116: {"TU116", "7.5"},
	tu117: {"TU117", "7.5"},
	ga100: {"GA100", "8.0"},
	ga102: {"GA102", "8.6"},
	ga103: {"GA103", "8.6"},
	ga104: {"GA104", "8.6"},
	ga106: {"GA106", "8.6"},
	ga107: {"GA107", "8.6"},
	ad102: {"AD102", "8.9"},
	ad103: {"AD103", "8.9"},
	ad104: {"AD104", "8.9"},
	ad106: {"AD106", "8.9"},
	ad107: {"AD107", "8.9"},
	gh100: {"GH100", "9.0"},
	gb100: {"GB100", "10.0"},
	gb102: {"GB102", "10.0"},
	gb110: {"GB110", "10.3"},
	gb112: {"GB112", "10.3"},
	gb120: {"GB120", ""},
	gb10b: {"GB10B", "11.0"},
	gb202: {"GB202", "12.0"},
	gb203: {"GB203", "12.0"},
	gb205: {"GB205", "12.0"},
	gb206: {"GB206", "12.0"},
	gb207: {"GB207", "12.0"},
	gb20b: {"GB20B", "12.1"},
	gr100: {"GR100", "10.7"},
	gr102: {"GR102", "10.7"},
}
