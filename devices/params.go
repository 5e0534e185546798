package devices

import "strconv"

// Params are the driver's settings for device files, from
// /proc/driver/nvidia/params.
type Params struct {
	// Modify says that the driver's own libraries make missing nodes.
	Modify bool
	// UID, GID and Mode are those of nodes the driver's tools make. The file
	// gives the mode in decimal: 438 is 0666.
	UID, GID, Mode uint32
}

// defaultParams are the module's own defaults (nv-reg.h of the open kernel
// modules: NVreg_ModifyDeviceFiles, NVreg_DeviceFileUID, GID, Mode).
func defaultParams() Params { return Params{Modify: true, Mode: 0o666} }

// parseParams reads what it can; a value that makes no sense stays the default.
func parseParams(data []byte) Params {
	p := defaultParams()
	for label, value := range fields(data) {
		n, err := strconv.ParseUint(value, 10, 32)
		if err != nil {
			continue
		}
		switch label {
		case "ModifyDeviceFiles":
			p.Modify = n != 0
		case "DeviceFileUID":
			p.UID = uint32(n)
		case "DeviceFileGID":
			p.GID = uint32(n)
		case "DeviceFileMode":
			if n <= 0o777 {
				p.Mode = uint32(n)
			}
		}
	}
	return p
}
