package request

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpu-hook/gpu-hook/hook/config"
)

// asked is where a request stands and the device words found there.
type asked struct {
	source string
	list   []string
	imex   []string // channels that came the same way
	user   bool     // a person put it there, not an image
	absent string   // why there is nothing, where the list is empty
}

// Annotations that the runtime wrapper looks at.
const (
	cdiPrefix = "cdi.k8s.io/"
	ownPrefix = "gpu-hook/devices"
)

// cdiSource is the source of names on the hook's command line.
const cdiSource = "cdi"

// annotations reads CDI annotations and our own, keys in order. Names of other
// vendors in CDI annotations are somebody else's.
func annotations(all map[string]string) (asked, bool) {
	var keys, list, imex []string
	for key, value := range all {
		if strings.HasPrefix(key, cdiPrefix) || strings.HasPrefix(key, ownPrefix) {
			for _, w := range words(value) {
				if class, _, ok := nvidiaCDI(w); strings.HasPrefix(key, ownPrefix) || ok && (class == "gpu" || class == "imex-channel") {
					keys = append(keys, key)
					break
				}
			}
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		for _, w := range words(all[key]) {
			switch class, device, ok := nvidiaCDI(w); {
			case ok && class == "gpu":
				list = append(list, device)
			case ok && class == "imex-channel":
				imex = append(imex, strings.TrimPrefix(device, "channel"))
			case strings.HasPrefix(key, ownPrefix):
				list = append(list, w)
			}
		}
	}
	if len(list) == 0 {
		return asked{}, false
	}
	return asked{source: "annotation:" + strings.Join(keys, ","), list: list, imex: imex, user: true}, true
}

// environment reads the variables that the configuration ranks first, all of
// those that are set; where none is, NVIDIA_VISIBLE_DEVICES alone.
func environment(env Env, swarmResource string) asked {
	var names, list []string
	for _, name := range words(swarmResource) {
		if value, ok := env.Lookup(name); ok && !slices.Contains(names, name) {
			names = append(names, name)
			list = append(list, words(value)...)
		}
	}
	if len(names) > 0 {
		joined := strings.Join(names, ",")
		return asked{source: "env:" + joined, list: unqualified(list), user: true, absent: joined + " is empty"}
	}
	value, ok := env.Lookup(visibleDevices)
	if !ok && env.legacyImage() {
		return asked{source: "legacy", list: []string{allWord}}
	}
	if !ok {
		return asked{absent: visibleDevices + " is not set"}
	}
	list = words(value)
	return asked{
		source: "env:" + visibleDevices,
		list:   unqualified(list),
		user:   slices.ContainsFunc(list, func(w string) bool { return !isWord(allWord)(w) }),
		absent: visibleDevices + " is empty",
	}
}

// envAccepted applies accept-env.
func (in Input) envAccepted() bool {
	switch in.Config.AcceptEnv {
	case config.EnvNever:
		return false
	case config.EnvPrivileged:
		return in.Privileged
	default:
		return true
	}
}

// refused is the warning for a container that starts without the GPUs its
// environment asks for.
func (in Input) refused(a asked) Warning {
	who := "no container's environment"
	if in.Config.AcceptEnv == config.EnvPrivileged {
		who = "only a privileged container's environment"
	}
	return Warning{
		Code: "env-not-accepted",
		Message: fmt.Sprintf("%s asks for GPUs (%.200q), but %s may do so: the container starts without; set accept-env = \"always\" or ask by annotation or volume mount",
			a.source, strings.Join(a.list, ","), who),
	}
}
