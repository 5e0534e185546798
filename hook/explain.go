package hook

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gpu-hook/gpu-hook/compat"
)

// refused reports that the hook would end with an error.
func (p Plan) refused() bool { return p.Exit != nil && p.Exit.Code != 0 }

// writeExit says why the container does not start and what can be done: one way
// a line, since the ways exclude each other.
func (p Plan) writeExit(b *strings.Builder) {
	if !p.refused() {
		return
	}
	why, cure := strings.TrimPrefix(p.Exit.Line, "gpu-hook: "), p.Exit.Cure
	if rest, ok := strings.CutSuffix(why, "; "+cure); ok && cure != "" {
		why = rest
	}
	b.WriteString("\nWhy\n")
	paragraph(b, "  ", why)
	if cure == "" {
		b.WriteString("\n")
		return
	}
	ways := strings.Split(cure, ", or ")
	if len(ways) == 1 {
		b.WriteString("\nWhat to do\n")
	} else {
		b.WriteString("\nWhat to do (one of these)\n")
	}
	for _, way := range ways {
		paragraph(b, "  - ", way)
	}
	b.WriteString("\nWhat was found\n")
}

// writeCompat says which CUDA driver library programs get, and why.
func (p Plan) writeCompat(b *strings.Builder) {
	c := p.Compat
	if c.Decision == "" {
		return
	}
	b.WriteString("\nCUDA\n")
	fmt.Fprintf(b, "  host driver    %s, for CUDA %s\n", p.Driver.Version, orUnknown(c.DriverCUDA))
	if c.RuntimeCUDA != "" {
		fmt.Fprintf(b, "  image          CUDA %s (%s)\n", c.RuntimeCUDA, whence(c.RuntimeSource))
	}
	for _, note := range c.Notes {
		paragraph(b, "                 ", note)
	}
	paragraph(b, "  decision       ", c.Decision+": "+c.outcome())
	if !p.refused() || !strings.Contains(p.Exit.Line, c.Reason) {
		paragraph(b, "  because        ", c.Reason)
	}
}

// outcome is what the decision means for the programs in the container.
func (c Compat) outcome() string {
	switch compat.Kind(c.Decision) {
	case compat.KindForward:
		return "programs get the newer driver library (libcuda) in " + c.Overlay + " instead of the host's"
	case compat.KindMinor:
		return "programs get the host's driver library (libcuda), which is a little older than the image's CUDA; most work"
	case compat.KindIncompatible:
		return "CUDA programs of this image cannot run on this host (CUDA error 35)"
	default:
		return "programs get the host's driver library (libcuda)"
	}
}

// whence says in words where the image's CUDA version was found.
func whence(source string) string {
	if name, ok := strings.CutPrefix(source, "env:"); ok {
		return "its variable " + name + " says so"
	}
	return "found as " + printable(strings.TrimPrefix(source, "file:"))
}

// textWidth is where lines of the text form are broken.
const textWidth = 100

// paragraph writes text after a lead, broken between words into lines that
// hang below its first one.
func paragraph(b *strings.Builder, lead, text string) {
	b.WriteString(lead)
	column := utf8.RuneCountInString(lead)
	indent := column
	for i, word := range strings.Fields(text) {
		width := utf8.RuneCountInString(word)
		switch {
		case i > 0 && column+1+width > textWidth:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		case i > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width
	}
	b.WriteByte('\n')
}
