package engines

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// tableVar names a file that gets the table: "go test" keeps what passing tests
// print to itself.
const tableVar = "GPUHOOK_TABLE"

// cell is one engine as installed, on one cgroup layout with one runtime.
type cell struct {
	engine, version, runtime string
	cgroups                  lab.Cgroups
}

// table collects what each way of giving a container its GPUs came to.
type table struct {
	mu      sync.Mutex
	rows    []row
	remarks map[string]string // by test
}

type row struct {
	cell
	way, result string
}

// try runs a subtest and notes how it ended.
func (tb *table) try(t *testing.T, c cell, way string, test func(t *testing.T)) {
	t.Helper()
	result := "skipped"
	start := time.Now()
	t.Run(way, func(t *testing.T) {
		defer func() {
			tb.mu.Lock()
			defer tb.mu.Unlock()
			switch {
			case t.Failed():
				result = "FAIL"
			case !t.Skipped():
				result = cmp.Or(tb.remarks[t.Name()], fmt.Sprintf("pass  %.1f s", time.Since(start).Seconds()))
			}
		}()
		test(t)
	})
	tb.note(c, way, result)
}

// remark replaces a passing test's result in the table.
func (tb *table) remark(t *testing.T, text string) {
	t.Helper()
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.remarks == nil {
		tb.remarks = map[string]string{}
	}
	tb.remarks[t.Name()] = text
}

// note adds a row, such as one that cannot apply.
func (tb *table) note(c cell, way, result string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.rows = append(tb.rows, row{c, way, result})
}

// String writes the table, sorted by all but the way: ways stay in their order.
func (tb *table) String() string {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	slices.SortStableFunc(tb.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.engine, b.engine), cmp.Compare(a.version, b.version),
			cmp.Compare(a.cgroups, b.cgroups), cmp.Compare(a.runtime, b.runtime))
	})
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "engine\tversion\tcgroup\truntime\tway\tresult")
	for _, r := range tb.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.engine, r.version, layout(r.cgroups), r.runtime, r.way, r.result)
	}
	w.Flush()
	return text.String()
}

// layout names a cgroup layout as people do.
func layout(c lab.Cgroups) string {
	if c == lab.Machine {
		return "hybrid"
	}
	return string(c)
}

// print shows the table.
func (tb *table) print(t *testing.T) {
	t.Helper()
	text := tb.String()
	t.Logf("\n%s", text)
	file := os.Getenv(tableVar)
	if file == "" {
		return
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Errorf("write the table: %v", err)
	}
}
