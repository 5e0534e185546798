package devices

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// IMEXError says that a requested IMEX channel cannot be had.
type IMEXError struct {
	Channel string
	Err     error
}

func (e *IMEXError) Error() string {
	return fmt.Sprintf("use IMEX channel %.200q: %v", e.Channel, e.Err)
}

// Unwrap gives the cause.
func (e *IMEXError) Unwrap() error { return e.Err }

// Cure says how channels come to be.
func (e *IMEXError) Cure() string {
	return "name a channel whose node is in /dev/nvidia-caps-imex-channels; nvidia-modprobe -i makes them"
}

var errNotChannel = errors.New("not a decimal number below 1048576")

// maxChannel is the first number too high for a channel: it is a device minor
// of 20 bits.
const maxChannel = 1 << 20

// IMEXNodes returns the nodes of IMEX channels, each once, in the order given.
// Empty names are passed over; `all` is no channel. The host must have the node:
// a channel is a right that its administrator hands out by making it.
func (inv Inventory) IMEXNodes(h Host, channels []string) ([]Node, []Warning, error) {
	p := planner{inv: inv, host: h}
	for _, text := range channels {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n >= maxChannel || !digits(text) {
			return nil, nil, &IMEXError{text, errNotChannel}
		}
		major, ok := inv.Major("nvidia-caps-imex-channels")
		if !ok {
			return nil, nil, &IMEXError{text, errors.New("the driver has no IMEX channels")}
		}
		name := "nvidia-caps-imex-channels/channel" + strconv.FormatUint(n, 10)
		if _, err := hostNode(h.Dev + "/" + name); err != nil {
			return nil, nil, &IMEXError{text, fmt.Errorf("look at %s: %w", h.Dev+"/"+name, err)}
		}
		if !p.has(major, uint32(n)) {
			p.add(name, major, uint32(n), "imex")
		}
	}
	return p.nodes, p.warnings, nil
}
