package compat

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Names of the variables with requirements. NVIDIA_REQUIRE_JETPACK and its like
// choose files on Jetson boards and are no expressions.
const (
	requirePrefix  = "NVIDIA_REQUIRE_"
	requireCUDA    = "NVIDIA_REQUIRE_CUDA"
	requireJetpack = "NVIDIA_REQUIRE_JETPACK"
	disableRequire = "NVIDIA_DISABLE_REQUIRE"
)

// Facts are what requirement expressions are compared with.
type Facts struct {
	// CUDA is the version that the container will really have:
	// Decision.EffectiveCUDA.
	CUDA CUDA
	// Driver is the host's.
	Driver Driver
	// GPUs are those that the container gets.
	GPUs []GPU
}

// RequirementsDisabled says that NVIDIA_DISABLE_REQUIRE turns requirements off.
// Of several entries of env (NAME=value) the last counts. Only the words that
// [strconv.ParseBool] takes as true do it: 1, t, T, true, True, TRUE.
func RequirementsDisabled(env []string) bool {
	value := ""
	for _, entry := range env {
		if name, text, ok := strings.Cut(entry, "="); ok && name == disableRequire {
			value = text
		}
	}
	off, err := strconv.ParseBool(value)
	return err == nil && off
}

// CheckRequirements evaluates every NVIDIA_REQUIRE_ variable of env (entries
// NAME=value, the last of a name counts) in order of their names, for each GPU.
// The error is an [UnsatisfiedError] or an [ExpressionError]. If disabled is
// set or the environment says so, both become warnings. A requirement on a fact
// that is not known counts as met, with a warning.
func CheckRequirements(env []string, facts Facts, disabled bool) ([]Warning, error) {
	expressions := map[string]string{}
	for _, entry := range env {
		name, text, ok := strings.Cut(entry, "=")
		if ok && strings.HasPrefix(name, requirePrefix) && !strings.HasPrefix(name, requireJetpack) {
			expressions[name] = text
		}
	}
	if len(expressions) == 0 {
		return nil, nil
	}
	disabled = disabled || RequirementsDisabled(env)
	var warnings []Warning
	for _, name := range slices.Sorted(maps.Keys(expressions)) {
		notes, err := checkOne(name, expressions[name], facts)
		switch {
		case err != nil && !disabled:
			return warnings, err
		case err != nil:
			warnings = append(warnings, warnf("requirement-ignored", "requirements are turned off, and the container starts although this one is not met: %s", err))
		default:
			warnings = append(warnings, notes...)
		}
	}
	return warnings, nil
}

// checkOne evaluates one expression for each GPU, or once without a GPU.
func checkOne(variable, expression string, facts Facts) ([]Warning, error) {
	gpus := make([]*GPU, 0, len(facts.GPUs)+1)
	for i := range facts.GPUs {
		gpus = append(gpus, &facts.GPUs[i])
	}
	if len(gpus) == 0 {
		gpus = append(gpus, nil)
	}
	var warnings []Warning
	for _, gpu := range gpus {
		verdict, err := evaluate(expression, facts, gpu)
		if err != nil {
			return nil, &ExpressionError{Variable: variable, Expression: expression, Clause: err.clause, Problem: err.problem}
		}
		if !verdict.met {
			return nil, unsatisfied(variable, expression, verdict, facts, gpu)
		}
		for _, clause := range verdict.assumed {
			w := warnf("requirement-assumed", "%s: %.200q counts as met, because %s is not known", shown(variable), clause.text, clause.fact())
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
	}
	return warnings, nil
}
