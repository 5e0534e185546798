package request

import (
	"slices"
	"strings"
)

// Env is a list of NAME=VALUE entries, as process.env has it. The last entry
// of a name wins: Docker appends the user's NVIDIA_VISIBLE_DEVICES to the
// image's. Entries without "=" or without a name are passed over.
type Env []string

// Variable is one variable.
type Variable struct{ Name, Value string }

// Lookup finds a variable's value and whether it is set at all.
func (e Env) Lookup(name string) (string, bool) {
	for _, entry := range slices.Backward(e) {
		if len(entry) > len(name) && entry[len(name)] == '=' && entry[:len(name)] == name {
			return entry[len(name)+1:], name != ""
		}
	}
	return "", false
}

// Get is a variable's value, "" where it is not set.
func (e Env) Get(name string) string {
	value, _ := e.Lookup(name)
	return value
}

// WithPrefix lists the variables whose names start with prefix, by name.
func (e Env) WithPrefix(prefix string) []Variable {
	var out []Variable
	for _, entry := range e {
		if !strings.HasPrefix(entry, prefix) {
			continue
		}
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" || len(name) < len(prefix) {
			continue
		}
		if !slices.ContainsFunc(out, func(v Variable) bool { return v.Name == name }) {
			out = append(out, Variable{name, e.Get(name)})
		}
	}
	slices.SortFunc(out, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// words splits a comma list, trims each word and drops empty ones.
func words(list string) []string {
	var out []string
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}
