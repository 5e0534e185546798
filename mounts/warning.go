package mounts

// Warning is something that a user should know about a container that starts
// all the same.
type Warning struct {
	// Code is a stable kebab-case word, for example "foreign-mount".
	Code string
	// Message is one sentence with the cure.
	Message string
}
