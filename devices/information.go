package devices

import (
	"strconv"
	"strings"
)

// information is what a GPU's information file says. Fields may be missing or
// "N/A": then they are empty, or [NoMinor].
type information struct {
	model, uuid string
	minor       int
	excluded    bool
}

func parseInformation(data []byte) information {
	info := information{minor: NoMinor}
	for label, value := range fields(data) {
		if value == "N/A" {
			continue
		}
		switch label {
		case "Model":
			info.model = value
		case "GPU UUID":
			if fullUUID(value) {
				info.uuid = value
			}
		case "Device Minor":
			if n, err := strconv.Atoi(value); err == nil && n >= 0 && n <= maxMinor {
				info.minor = n
			}
		case "GPU Excluded":
			info.excluded = strings.EqualFold(value, "yes")
		}
	}
	return info
}

// fullUUID reports whether text is "GPU-" and a UUID. A GPU that was not yet
// initialised shows question marks instead of hexadecimal digits.
func fullUUID(text string) bool {
	rest, ok := strings.CutPrefix(text, "GPU-")
	return ok && uuidShape(rest)
}

// uuidShape reports whether text is 8-4-4-4-12 hexadecimal digits.
func uuidShape(text string) bool {
	return len(text) == 36 && uuidPrefix(text) == 32
}

// uuidPrefix returns how many hexadecimal digits text has if it is the
// beginning of a UUID, dashes in their places, and -1 otherwise.
func uuidPrefix(text string) int {
	if len(text) > 36 {
		return -1
	}
	count := 0
	for i := range len(text) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		switch c := text[i] | 0x20; {
		case dash && text[i] == '-':
		case !dash && (text[i] >= '0' && text[i] <= '9' || c >= 'a' && c <= 'f'):
			count++
		default:
			return -1
		}
	}
	return count
}
