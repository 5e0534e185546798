package driver

import "fmt"

// capSet is a set of driver capabilities.
type capSet uint8

const (
	utility capSet = 1 << iota
	compute
	video
	graphics
	display
	ngx
	compat32
)

// capNames holds the words in the order in which a file is attributed when several of its capabilities were asked for.
var capNames = [...]struct {
	name string
	cap  capSet
	// implies is what libnvidia-container adds: video brings the compute libraries, display the graphics ones
	// (the capability expansion of its command line).
	implies capSet
}{
	{name: "compute", cap: compute},
	{name: "utility", cap: utility},
	{name: "video", cap: video, implies: compute},
	{name: "graphics", cap: graphics},
	{name: "display", cap: display, implies: graphics},
	{name: "ngx", cap: ngx},
	{name: "compat32", cap: compat32},
}

// parseCapabilities turns words into a set, with what they imply.
func parseCapabilities(words []string) (capSet, error) {
	var set capSet
next:
	for _, w := range words {
		for _, c := range capNames {
			if c.name == w {
				set |= c.cap | c.implies
				continue next
			}
		}
		return 0, fmt.Errorf("parse driver capability %.200q: not one of compute, utility, video, graphics, display, ngx, compat32", w)
	}
	return set, nil
}

// name is the word of the first capability in the set.
func (c capSet) name() string {
	for _, n := range capNames {
		if c&n.cap != 0 {
			return n.name
		}
	}
	return ""
}
