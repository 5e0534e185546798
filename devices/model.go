package devices

import (
	"slices"
	"strings"
)

// dataCenterModels are the names of data-centre products. Letters behind one
// ("A100X", "V100S", "K40m", the "A100D" of a vGPU) make a variant of it.
//
// Source: "NVIDIA Data Center GPUs" and "GRID" rows of NVIDIA's list of
// supported GPU products in the driver's README, up to branch 580.
var dataCenterModels = []string{
	"A100", "A800", "A2", "A10", "A16", "A30", "A40",
	"B100", "B200", "B300", "GB200", "GB300", "GH200",
	"H20", "H100", "H200", "H800",
	"K1", "K2", "K8", "K10", "K20", "K40", "K80", "K340", "K520",
	"L2", "L4", "L20", "L40",
	"M2", "M4", "M6", "M10", "M40", "M60",
	"P4", "P6", "P40", "P100", "T4", "T10", "T40", "V100",
}

// dataCenterChips are built for data-centre products only, so that a vGPU whose
// model says nothing else still has a class.
var dataCenterChips = []string{"GA100", "GH100", "GB100", "GB102", "GB110", "GB112"}

// classify derives class and NVML brand from the model's words. The chip only
// helps with virtual GPUs. A model that matches nothing is [Unknown], brand "".
func classify(model, chip string) (Class, string) {
	words := modelWords(model)
	virtual := false
	for len(words) > 0 && (words[0] == "NVIDIA" || words[0] == "GRID" || words[0] == "VGPU") {
		virtual = virtual || words[0] != "NVIDIA"
		words = words[1:]
	}
	class, brand := classifyWords(words)
	if virtual {
		brand = "grid"
		if class == Unknown && slices.Contains(dataCenterChips, chip) {
			class = DataCenter
		}
	}
	return class, brand
}

func classifyWords(words []string) (Class, string) {
	if len(words) == 0 {
		return Unknown, ""
	}
	second := ""
	if len(words) > 1 {
		second = words[1]
	}
	switch first := words[0]; {
	case first == "TESLA":
		return DataCenter, "tesla"
	case first == "GEFORCE":
		return GeForce, "geforce"
	case first == "TITAN":
		return GeForce, "titan"
	case first == "QUADRO" && second == "RTX":
		return Workstation, "quadrortx"
	case first == "QUADRO":
		return Unknown, "quadro"
	case first == "NVS":
		return Unknown, "nvs"
	case first == "RTX" && workstationRTX(words[1:]):
		return Workstation, "nvidiartx"
	case first == "RTX6000" || first == "RTX8000":
		return Workstation, "quadrortx" // the Quadro RTX as a vGPU is named
	case first == "TEGRA" || first == "JETSON" || first == "ORIN" || first == "XAVIER" || first == "THOR":
		return Tegra, "nvidia"
	case dataCenterModel(first):
		return DataCenter, "nvidia"
	}
	return Unknown, ""
}

// workstationRTX reports whether the words behind RTX are a professional
// product's: "A6000", "6000 Ada Generation", "PRO 6000 Blackwell".
func workstationRTX(words []string) bool {
	if len(words) == 0 {
		return false
	}
	first := words[0]
	if first == "PRO" {
		return true
	}
	if len(first) > 3 && first[0] == 'A' && digits(first[1:]) {
		return true
	}
	return digits(first) && slices.Contains(words, "ADA")
}

func dataCenterModel(word string) bool {
	base := strings.TrimRight(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	return base != "" && slices.Contains(dataCenterModels, base)
}

// modelWords splits a model into upper-case words at blanks, dashes, slashes.
func modelWords(model string) []string {
	return strings.FieldsFunc(strings.ToUpper(model), func(r rune) bool {
		return r == ' ' || r == '-' || r == '/' || r == '\t'
	})
}

func digits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}
