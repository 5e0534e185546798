package compat

import (
	"fmt"
	"strings"
)

// UnsatisfiedError means that a requirement of the image is not met. It ends
// with exit code 14.
type UnsatisfiedError struct {
	// Variable is the name and Expression the whole value of the variable.
	Variable, Expression string
	// Clause is the one that failed in the first alternative, Alternatives
	// the number of further alternatives, of which none is met either.
	Clause       string
	Alternatives int
	// Found is what is there instead, Wanted what would satisfy the clause.
	Found, Wanted string
}

// unsatisfied explains the first alternative: images put the plain need there
// and the exceptions behind it.
func unsatisfied(variable, expression string, v verdict, facts Facts, gpu *GPU) *UnsatisfiedError {
	first := v.failed[0]
	return &UnsatisfiedError{
		Variable: variable, Expression: expression,
		Clause: first.text, Alternatives: len(v.failed) - 1,
		Found: first.found(facts, gpu), Wanted: first.wanted(),
	}
}

// Error names the variable, the clause, what was found and the expression.
func (e *UnsatisfiedError) Error() string {
	others := ""
	if e.Alternatives == 1 {
		others = ", and its alternative is not met either"
	} else if e.Alternatives > 1 {
		others = fmt.Sprintf(", and none of its %d alternatives is met either", e.Alternatives)
	}
	return fmt.Sprintf("check requirement %s: the image needs %.200q, but %s%s (whole expression %s)",
		shown(e.Variable), e.Clause, e.Found, others, quoted(e.Expression))
}

// Cure says what would satisfy the requirement and how to override it.
func (e *UnsatisfiedError) Cure() string {
	return fmt.Sprintf("use %s, or start the container all the same with NVIDIA_DISABLE_REQUIRE=true in its environment (for all containers: disable-require = true in the configuration)", e.Wanted)
}

// found says what is there for a clause that failed.
func (c clause) found(facts Facts, gpu *GPU) string {
	switch c.property {
	case "cuda":
		if !facts.CUDA.Known() {
			return fmt.Sprintf("the host's driver %s is older than CUDA 7.0", facts.Driver)
		}
		own, _ := facts.Driver.CUDA()
		if facts.Driver.Known() && own != facts.CUDA {
			return fmt.Sprintf("the container has CUDA %s (driver %s)", facts.CUDA, facts.Driver)
		}
		return fmt.Sprintf("the host's driver %s supports CUDA %s", facts.Driver, facts.CUDA)
	case "driver":
		return fmt.Sprintf("the host's driver is %s", facts.Driver)
	case "arch":
		return fmt.Sprintf("GPU %.200s has compute capability %s", gpu.Model, gpu.Capability)
	}
	return fmt.Sprintf("GPU %.200s is of brand %s", gpu.Model, gpu.Brand)
}

// wanted says what would satisfy a clause.
func (c clause) wanted() string {
	words := map[string]string{
		"=": "", "!=": "other than ", "<": "older than ", "<=": "not newer than ", ">": "newer than ", ">=": "not older than ",
	}[c.operator]
	switch c.property {
	case "cuda":
		version, err := ParseCUDA(c.value)
		if err == nil && strings.HasPrefix(c.operator, ">") {
			return fmt.Sprintf("a host with %s, or an image for an older CUDA", driverFor(version))
		}
		return fmt.Sprintf("a host with a driver for CUDA %s%.200s", words, c.value)
	case "driver":
		return fmt.Sprintf("a host with a driver %s%.200s", words, c.value)
	case "arch":
		arch := map[string]string{"<": "below ", "<=": "not above ", ">": "above ", ">=": "not below "}
		if word, ok := arch[c.operator]; ok {
			words = word
		}
		return fmt.Sprintf("a GPU of compute capability %s%.200s", words, c.value)
	}
	return fmt.Sprintf("a GPU of brand %s%.200q", words, c.value)
}

// ExpressionError means that a requirement cannot be evaluated. It ends with
// exit code 11.
type ExpressionError struct {
	// Variable is the name and Expression the whole value of the variable.
	Variable, Expression string
	// Clause is the part that was reached and is malformed.
	Clause, Problem string
}

// Error names the variable, the clause and what is wrong with it.
func (e *ExpressionError) Error() string {
	return fmt.Sprintf("read requirement %s: %.200q: %s (whole expression %s)", shown(e.Variable), e.Clause, e.Problem, quoted(e.Expression))
}

// Cure says what the user can do.
func (e *ExpressionError) Cure() string {
	return fmt.Sprintf("correct %s (cuda, driver, arch or brand, then =, !=, <, <=, > or >=, then a value) or set NVIDIA_DISABLE_REQUIRE=true", shown(e.Variable))
}
