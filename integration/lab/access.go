package lab

import (
	"fmt"
	"os"
)

// AccessVar names a file that gets the lines of [NoteAccess]: "go test" keeps
// what passing tests print to itself.
const AccessVar = "GPUHOOK_ACCESS"

// NoteAccess adds a line to the table of who starts a container with what: the
// way in, what opens and what is refused, or why the cell cannot exist.
func NoteAccess(t T, cell, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf("%-44s %s\n", cell, fmt.Sprintf(format, args...))
	t.Logf("access: %s", line)
	file := os.Getenv(AccessVar)
	if file == "" {
		return
	}
	// A single write of less than a page with O_APPEND keeps lines whole.
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatalf("%v", err)
	}
	_, err = f.WriteString(line)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
}
