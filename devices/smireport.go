package devices

import (
	"iter"
	"strings"
)

// reported is one MIG device of nvidia-smi -q -x.
type reported struct {
	bus              busAddress
	position, gi, ci int
}

// parseReport reads the MIG devices out of the report of nvidia-smi -q -x:
//
//	<gpu id="00000000:01:00.0"> ... <mig_device> <index>0</index>
//	<gpu_instance_id>1</gpu_instance_id> <compute_instance_id>0</compute_instance_id>
//
// Devices with a field missing are passed over. A scan for tags does it: nothing
// that matters here is quoted, and encoding/xml would be linked for this alone.
func parseReport(data []byte) []reported {
	var all []reported
	var at busAddress
	var d reported
	var inGPU bool
	for tag, text := range tags(string(data)) {
		number, ok := instanceID(text)
		if !ok {
			number = -1
		}
		name, attributes, _ := strings.Cut(tag, " ")
		switch name {
		case "gpu":
			id, _ := between(attributes, `id="`, `"`)
			at, inGPU = parseBusID(id)
		case "/gpu":
			inGPU = false
		case "mig_device":
			d = reported{bus: at, position: -1, gi: -1, ci: -1}
		case "index":
			d.position = number
		case "gpu_instance_id":
			d.gi = number
		case "compute_instance_id":
			d.ci = number
		case "/mig_device":
			if inGPU && d.position >= 0 && d.gi >= 0 && d.ci >= 0 {
				all = append(all, d)
			}
			d = reported{position: -1, gi: -1, ci: -1}
		}
	}
	return all
}

// tags yields each tag without its brackets, with the text up to the next one.
func tags(text string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for {
			_, rest, ok := strings.Cut(text, "<")
			if !ok {
				return
			}
			tag, rest, ok := strings.Cut(rest, ">")
			if !ok {
				return
			}
			value, _, _ := strings.Cut(rest, "<")
			if !yield(tag, strings.TrimSpace(value)) {
				return
			}
			text = rest
		}
	}
}
