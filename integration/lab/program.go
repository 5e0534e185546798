package lab

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// errEnded unwinds a program whose work was ended by Fatalf or Skipf.
var errEnded = errors.New("ended")

// program is a [T] for programs that are no tests.
type program struct {
	name     string
	cleanups []func()
	code     int
}

// Main runs the work of a program with the means of the laboratory and returns
// the program's exit status: 0, or 1 where something needed was missing.
func Main(name string, work func(t T)) int {
	p := &program{name: name}
	func() {
		defer p.cleanUp()
		defer func() {
			if v := recover(); v != nil {
				if err, ok := v.(error); !ok || !errors.Is(err, errEnded) {
					panic(v)
				}
			}
		}()
		work(p)
	}()
	return p.code
}

func (p *program) cleanUp() {
	for _, f := range slices.Backward(p.cleanups) {
		f()
	}
}

func (p *program) Helper()          {}
func (p *program) Name() string     { return p.name }
func (p *program) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }

func (p *program) Logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, p.name+": "+format+"\n", args...)
}

func (p *program) end(format string, args ...any) {
	p.Logf(format, args...)
	p.code = 1
	panic(errEnded)
}

func (p *program) Skipf(format string, args ...any)  { p.end(format, args...) }
func (p *program) Fatalf(format string, args ...any) { p.end(format, args...) }

// Attempt does work that may lack something, and returns what ended it, or "".
// Files that the work makes last until t ends.
func Attempt(t T, work func(t T)) (why string) {
	a := &attempt{T: t}
	defer func() {
		if v := recover(); v != nil {
			if err, ok := v.(error); !ok || !errors.Is(err, errEnded) {
				panic(v)
			}
			why = a.why
		}
	}()
	work(a)
	return ""
}

// attempt is a [T] whose end is not the end of the program.
type attempt struct {
	T
	why string
}

func (a *attempt) end(format string, args ...any) {
	a.why = fmt.Sprintf(format, args...)
	panic(errEnded)
}

func (a *attempt) Skipf(format string, args ...any)  { a.end(format, args...) }
func (a *attempt) Fatalf(format string, args ...any) { a.end(format, args...) }
