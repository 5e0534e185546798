package devices

// Warning is something the user should know although the work goes on.
type Warning struct {
	Code    string // Code is a kebab-case word that scripts can look for.
	Message string // Message is one sentence, with the cure where one is known.
}
