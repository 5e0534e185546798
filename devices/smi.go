package devices

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// SMI returns what the host's nvidia-smi prints for some arguments; see
// [HostSMI].
type SMI func(ctx context.Context, args ...string) ([]byte, error)

// listed is one GPU of nvidia-smi -L with the UUIDs of its MIG devices by
// position.
type listed struct {
	index int
	uuid  string
	mig   map[int]string
}

var errNoList = errors.New("no GPU in the output of nvidia-smi -L")

// parseSMI reads the output of nvidia-smi -L:
//
//	GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-...)
//	  MIG 3g.20gb     Device  0: (UUID: MIG-...)
//
// Before branch 470 the MIG UUID was MIG-GPU-.../gi/ci. Other lines, such as
// warnings, are passed over.
func parseSMI(data []byte) ([]listed, error) {
	var all []listed
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		uuid, ok := between(line, "(UUID: ", ")")
		if !ok {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "GPU "); ok {
			number, _, _ := strings.Cut(rest, ":")
			index, err := strconv.Atoi(number)
			if err != nil || index < 0 || !fullUUID(uuid) {
				continue
			}
			all = append(all, listed{index: index, uuid: uuid, mig: map[int]string{}})
			continue
		}
		if !strings.HasPrefix(line, "MIG ") || !strings.HasPrefix(uuid, "MIG-") || len(all) == 0 {
			continue
		}
		number, ok := between(line, " Device ", ":")
		if position, fits := instanceID(strings.TrimSpace(number)); ok && fits {
			all[len(all)-1].mig[position] = uuid
		}
	}
	if len(all) == 0 {
		return nil, errNoList
	}
	return all, nil
}

// between returns the text from behind the last occurrence of before to the
// next after.
func between(text, before, after string) (string, bool) {
	i := strings.LastIndex(text, before)
	if i < 0 {
		return "", false
	}
	middle, _, ok := strings.Cut(text[i+len(before):], after)
	return middle, ok
}
