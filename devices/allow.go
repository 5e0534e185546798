package devices

import (
	"path"
	"strings"
)

// allowed is an allow list made ready: index, UUID, bus id, "all", or a shell
// pattern on the model.
type allowed struct {
	inv  Inventory
	list []string
}

// gpu reports whether the list has the GPU. An empty list has none.
func (a allowed) gpu(gpu GPU) bool {
	for _, entry := range a.list {
		entry = strings.TrimSpace(entry)
		if strings.EqualFold(entry, "all") {
			return true
		}
		for _, hit := range a.inv.find(entry) {
			if hit == gpu.Index {
				return true
			}
		}
		if !digits(entry) && matchModel(entry, gpu.Model) {
			return true
		}
	}
	return false
}

// matchModel matches in any case, and lets a star match a slash ("Quadro RTX
// 6000/8000"), which path.Match takes for a directory's.
func matchModel(pattern, model string) bool {
	if model == "" {
		return false
	}
	fold := func(text string) string {
		return strings.ReplaceAll(strings.ToLower(text), "/", "\x1f")
	}
	ok, err := path.Match(fold(pattern), fold(model))
	return err == nil && ok
}
