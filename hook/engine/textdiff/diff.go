// Package textdiff prints what changes between two texts in the unified form
// that patch reads.
//
// It finds a shortest list of changed lines for files as long as
// configuration files are, and gives up on finding a short one, never on a
// right one, beyond that. It needs no particular kernel.
package textdiff

import (
	"bytes"
	"fmt"
	"strings"
)

// around is how many lines are shown before and after a change.
const around = 3

// maxTable bounds the work: above this many pairs of lines the whole middle is
// replaced. 4 million pairs are 16 MB and some 10 ms.
const maxTable = 4 << 20

// edit is one line of the difference: ' ' in both, '-' only old, '+' only new.
type edit struct {
	op   byte
	line string
}

// Unified is the difference between two versions of the file name, "" where
// there is none. A nil version is a file that does not exist.
func Unified(name string, old, updated []byte) string {
	if bytes.Equal(old, updated) && (old == nil) == (updated == nil) {
		return ""
	}
	edits := compare(split(old), split(updated))
	var b strings.Builder
	from, to := "a/"+strings.TrimPrefix(name, "/"), "b/"+strings.TrimPrefix(name, "/")
	if old == nil {
		from = "/dev/null"
	}
	if updated == nil {
		to = "/dev/null"
	}
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
	oldLine, newLine := 1, 1
	for i := 0; i < len(edits); {
		if edits[i].op == ' ' {
			oldLine, newLine, i = oldLine+1, newLine+1, i+1
			continue
		}
		lead := min(around, i)
		stop := hunkEnd(edits, i)
		hunk(&b, edits[i-lead:stop], oldLine-lead, newLine-lead)
		for ; i < stop; i++ {
			if edits[i].op != '+' {
				oldLine++
			}
			if edits[i].op != '-' {
				newLine++
			}
		}
	}
	return b.String()
}

// hunkEnd is where the hunk with the change at i ends: changes less than two
// contexts apart are one hunk.
func hunkEnd(edits []edit, i int) int {
	last := i
	for j := i; j < len(edits) && j <= last+2*around; j++ {
		if edits[j].op != ' ' {
			last = j
		}
	}
	return min(last+around+1, len(edits))
}

func hunk(b *strings.Builder, edits []edit, oldLine, newLine int) {
	oldCount, newCount := 0, 0
	for _, e := range edits {
		if e.op != '+' {
			oldCount++
		}
		if e.op != '-' {
			newCount++
		}
	}
	if oldCount == 0 {
		oldLine--
	}
	if newCount == 0 {
		newLine--
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", oldLine, oldCount, newLine, newCount)
	for _, e := range edits {
		b.WriteByte(e.op)
		b.WriteString(e.line)
		if !strings.HasSuffix(e.line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

func split(text []byte) []string {
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, line)
	}
	return lines
}

// compare lists the lines of both texts in order, by a longest common
// subsequence of what is left between a common start and a common end.
func compare(a, b []string) []edit {
	var head, tail []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, edit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, edit{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	edits := append(head, middle(a, b)...)
	for i := len(tail) - 1; i >= 0; i-- {
		edits = append(edits, tail[i])
	}
	return edits
}

func middle(a, b []string) []edit {
	var edits []edit
	i, j := 0, 0
	if len(a)*len(b) <= maxTable {
		width := len(b) + 1
		common := make([]int32, (len(a)+1)*width) // longest common subsequence of a[i:] and b[j:]
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if a[i] == b[j] {
					common[i*width+j] = common[(i+1)*width+j+1] + 1
				} else {
					common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
				}
			}
		}
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				edits = append(edits, edit{' ', a[i]})
				i, j = i+1, j+1
			case common[(i+1)*width+j] >= common[i*width+j+1]:
				edits = append(edits, edit{'-', a[i]})
				i++
			default:
				edits = append(edits, edit{'+', b[j]})
				j++
			}
		}
	}
	for ; i < len(a); i++ {
		edits = append(edits, edit{'-', a[i]})
	}
	for ; j < len(b); j++ {
		edits = append(edits, edit{'+', b[j]})
	}
	return edits
}
