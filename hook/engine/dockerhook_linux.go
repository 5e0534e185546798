package engine

import (
	"path"
	"slices"
)

// dockerPath is where a dockerd that systemd starts looks for programs, first
// one first (systemd's default PATH).
var dockerPath = [...]string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// cdiHookName makes Docker 29.2 and later try CDI before the hook.
const cdiHookName = "nvidia-cdi-hook"

// placeHookLink plans the link that makes docker run --gpus work: dockerd
// looks for one name on its PATH, once, at its start. The first on the PATH
// wins, so beside NVIDIA's own we take over only where told to.
func (p *plan) placeHookLink(h host, o Options) (changed bool, err error) {
	if o.HookLink == HookLinkNever {
		return false, nil
	}
	at := slices.Index(dockerPath[:], path.Dir(o.Binary))
	if at < 0 {
		at = slices.Index(dockerPath[:], "/usr/local/bin")
	}
	other, first := h.otherHook()
	name := path.Join(dockerPath[at], hookName)
	switch {
	case other != "" && o.HookLink != HookLinkAlways:
		p.warn("gpus-elsewhere", "docker run --gpus stays with %s; --hook-link always lets gpu-hook serve it", other)
		return false, nil
	case other != "" && first <= at:
		return false, refused(other, "comes first on dockerd's PATH, or has the very name", "remove it, or leave out --hook-link")
	case other != "":
		p.warn("gpus-ours", "docker run --gpus is served by gpu-hook and no longer by %s: %s comes first on dockerd's PATH", other, name)
	}
	for _, dir := range dockerPath {
		if h.exists(path.Join(dir, cdiHookName)) {
			p.warn("cdi-first", "%s is installed: Docker 29.2 and later serve --gpus from a CDI specification where there is one", path.Join(dir, cdiHookName))
			break
		}
	}
	l, err := h.lookLink(name)
	if err != nil {
		return false, err
	}
	before := len(p.changes)
	p.place(l, o.Binary)
	return len(p.changes) > before, nil
}

// otherHook is the first program of the hook's name on dockerd's PATH that
// does not lead to gpu-hook, and its place on the PATH.
func (h host) otherHook() (name string, at int) {
	for i, dir := range dockerPath {
		candidate := path.Join(dir, hookName)
		l, err := h.lookLink(candidate)
		if err != nil || !l.exists || l.made() {
			continue
		}
		if at, err := h.real(candidate); err == nil && ownProgram(at) {
			continue
		}
		return candidate, i
	}
	return "", 0
}
