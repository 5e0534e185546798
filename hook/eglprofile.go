package hook

import (
	"fmt"
	"path"
)

// eglProfile is read by the driver's EGL library in every program.
const eglProfile = "/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf"

// addEGLProfile limits EGL and Vulkan to the container's GPUs: their libraries
// list all GPUs of the machine, whichever nodes there are, and fail on those
// without one. The mask has a bit for each minor; the driver's key takes 64.
// Source: the key EGLVisibleDGPUDevices as libnvidia-container sets it.
func (l *layout) addEGLProfile(p *Plan) {
	if !l.f.has("graphics", "display") {
		return
	}
	var mask uint64
	for _, g := range l.f.GPUs() {
		if g.Minor >= 0 && g.Minor < 64 {
			mask |= 1 << g.Minor
		}
	}
	if mask == 0 {
		return
	}
	text := fmt.Sprintf(`{"profiles": [{"name": "_container_", "settings": ["EGLVisibleDGPUDevices", 0x%x]}], "rules": [{"pattern": [], "profile": "_container_"}]}`+"\n", mask)
	inTree := path.Join(l.textDir(), eglProfile)
	p.Texts = append(p.Texts, Text{Path: inTree, Content: text})
	l.addNamed(p, eglProfile, inTree)
}
