package compat

import (
	"cmp"
	"strings"
)

// maxClause is the longest clause accepted, in bytes, as in libnvidia-container.
const maxClause = 127

// clause is one comparison of a requirement expression: PROPERTY OP VALUE.
type clause struct {
	text, property, operator, value string
}

// clauseError says why a clause cannot be evaluated.
type clauseError struct{ clause, problem string }

// operators in the order in which they are looked for. A lone "!" means "!=",
// as libnvidia-container has it.
func operators() []string { return []string{"<=", ">=", "!=", "<", ">", "=", "!"} }

// parseClause splits a clause and checks its form.
func parseClause(text string) (clause, *clauseError) {
	fail := func(problem string) (clause, *clauseError) {
		return clause{}, &clauseError{clause: text, problem: problem}
	}
	if len(text) > maxClause {
		return fail("it is longer than 127 characters")
	}
	at := strings.IndexAny(text, "<>=!")
	if at < 0 {
		return fail("it has no comparison (=, !=, <, <=, > or >=)")
	}
	c := clause{text: text, property: strings.ToLower(text[:at])}
	for _, operator := range operators() {
		if value, ok := strings.CutPrefix(text[at:], operator); ok {
			c.operator, c.value = operator, value
			break
		}
	}
	if c.operator == "!" {
		c.operator = "!="
	}
	switch {
	case c.value == "":
		return fail("nothing follows the comparison")
	case strings.ContainsAny(c.value, "<>=!"):
		return fail("its comparison is none of =, !=, <, <=, > and >=")
	}
	switch c.property {
	case "cuda", "driver", "arch":
		if strings.Trim(c.value, "0123456789.") != "" {
			return fail("its version has characters other than digits and dots")
		}
	case "brand":
		if c.operator != "=" && c.operator != "!=" {
			return fail("a brand can only be compared with = and !=")
		}
	default:
		return fail("its property is none of cuda, driver, arch and brand")
	}
	return c, nil
}

// fact names what a clause looks at.
func (c clause) fact() string {
	switch c.property {
	case "cuda":
		return "the CUDA version of the driver"
	case "driver":
		return "the driver's version"
	case "arch":
		return "the GPU's compute capability"
	}
	return "the GPU's brand"
}

// answer is the value of a clause.
type answer int

const (
	answerNo answer = iota
	answerYes
	// answerAssumed is yes for want of the fact, to be mentioned.
	answerAssumed
)

// verdict is the value of an expression.
type verdict struct {
	met bool
	// assumed are the clauses of the term that was met whose facts are unknown.
	assumed []clause
	// failed is the failing clause of each term, in order.
	failed []clause
}

// evaluate reads an expression: terms separated by spaces, of which one must
// hold, each of clauses separated by commas, which must all hold. As in
// libnvidia-container it stops at the first term that holds and, inside a
// term, at the first clause that does not; only what is reached must be well
// formed. An expression without clauses holds. gpu may be nil.
func evaluate(expression string, facts Facts, gpu *GPU) (verdict, *clauseError) {
	var result verdict
	empty := true
	for term := range strings.SplitSeq(expression, " ") {
		holds, assumed := false, []clause(nil)
		for text := range strings.SplitSeq(term, ",") {
			if text == "" {
				continue
			}
			empty = false
			c, err := parseClause(text)
			if err != nil {
				return verdict{}, err
			}
			value := c.evaluate(facts, gpu)
			if holds = value != answerNo; !holds {
				result.failed = append(result.failed, c)
				break
			}
			if value == answerAssumed {
				assumed = append(assumed, c)
			}
		}
		if holds {
			return verdict{met: true, assumed: assumed}, nil
		}
	}
	result.met = empty
	return result, nil
}

// evaluate compares one clause with the facts.
func (c clause) evaluate(facts Facts, gpu *GPU) answer {
	switch c.property {
	case "cuda":
		return c.evaluateCUDA(facts)
	case "driver":
		if !facts.Driver.Known() {
			return answerAssumed
		}
		return c.compare(compareVersions(facts.Driver.String(), c.value))
	case "arch":
		switch {
		case gpu == nil:
			return answerYes
		case gpu.Capability == "":
			return answerAssumed
		}
		return c.compare(compareVersions(gpu.Capability, c.value))
	}
	switch {
	case gpu == nil:
		return answerYes
	case gpu.Brand == "" || strings.EqualFold(gpu.Brand, "unknown"):
		return answerAssumed
	case gpu.hasBrand(c.value) == (c.operator == "="):
		return answerYes
	}
	return answerNo
}

// evaluateCUDA takes a driver newer than the table as newer than every CUDA in
// it and as unknown against later ones; one older than the table the other way
// round.
func (c clause) evaluateCUDA(facts Facts) answer {
	rows := branches()
	oldest := rows[0].cuda
	switch have := facts.CUDA; {
	case have.Open():
		if compareVersions((have-newerMark).String(), c.value) < 0 {
			return answerAssumed
		}
		return c.compare(1)
	case have.Known():
		return c.compare(compareVersions(have.String(), c.value))
	case facts.Driver.Known() && compareVersions(oldest.String(), c.value) <= 0:
		return c.compare(-1)
	}
	return answerAssumed
}

// compare applies the operator to the result of a comparison.
func (c clause) compare(result int) answer {
	holds := false
	switch c.operator {
	case "=":
		holds = result == 0
	case "!=":
		holds = result != 0
	case "<":
		holds = result < 0
	case "<=":
		holds = result <= 0
	case ">":
		holds = result > 0
	case ">=":
		holds = result >= 0
	}
	if holds {
		return answerYes
	}
	return answerNo
}

// hasBrand compares brand words in any case. The driver's own words for RTX
// models of GeForce and TITAN are narrower ones, which such a GPU has as well.
func (g GPU) hasBrand(word string) bool {
	if strings.EqualFold(g.Brand, word) {
		return true
	}
	narrow := strings.EqualFold(g.Brand, "geforce") || strings.EqualFold(g.Brand, "titan")
	return narrow && strings.EqualFold(g.Brand+"rtx", word) && strings.Contains(strings.ToUpper(g.Model), "RTX")
}

// compareVersions compares versions of any number of decimal components;
// missing and empty ones are 0, and there is no largest number.
func compareVersions(a, b string) int {
	for a != "" || b != "" {
		var left, right string
		left, a, _ = strings.Cut(a, ".")
		right, b, _ = strings.Cut(b, ".")
		left, right = strings.TrimLeft(left, "0"), strings.TrimLeft(right, "0")
		if order := cmp.Or(cmp.Compare(len(left), len(right)), cmp.Compare(left, right)); order != 0 {
			return order
		}
	}
	return 0
}

// lowestRequired returns the lowest version of the "cuda>=" clauses of an
// expression, or 0.
func lowestRequired(expression string) CUDA {
	lowest := CUDA(0)
	for text := range strings.FieldsFuncSeq(expression, func(r rune) bool { return r == ' ' || r == ',' }) {
		c, err := parseClause(text)
		if err != nil || c.property != "cuda" || c.operator != ">=" {
			continue
		}
		if version, err := ParseCUDA(c.value); err == nil && (lowest == 0 || version < lowest) {
			lowest = version
		}
	}
	return lowest
}
