package filter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// text returns the program as another library disassembles it.
func text(t *testing.T, p Program) string {
	t.Helper()
	insns, err := asm.AppendInstructions(nil, bytes.NewReader(p.Encode()), binary.LittleEndian, "linux")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for n, i := range insns {
		fmt.Fprintf(&b, "%3d: %v\n", n, i)
	}
	return b.String()
}

func char(major, minor uint32, access string) Rule {
	return Rule{Type: 'c', Major: major, Minor: minor, Access: access}
}

// denyAll is a filter of nothing but "no".
func denyAll() Program { return Program{movImm(0, 0), exit()} }

func TestGolden(t *testing.T) {
	t.Parallel()
	runtimes := func(entries ...Entry) Program {
		p, err := Build(append(entries, defaults[:]...))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	tests := []struct {
		name  string
		rules []Rule
		body  Program
	}{
		{"one-rule", []Rule{char(195, 0, "rw")}, denyAll()},
		{"eight-gpus", []Rule{
			char(195, 0, "rw"), char(195, 1, "rw"), char(195, 2, "rw"), char(195, 3, "rw"), char(195, 4, "rw"),
			char(195, 5, "rw"), char(195, 6, "rw"), char(195, 7, "rw"), char(195, 254, "rw"), char(195, 255, "rw"),
			char(510, 0, "rw"), char(510, 1, "rw"),
		}, denyAll()},
		{"different-access", []Rule{char(195, 0, "rwm"), char(195, 1, "r"), char(195, 2, "rwm"), char(237, 1, "r")}, denyAll()},
		{"before-runtime", []Rule{char(195, 0, "rw")}, runtimes(Entry{Bits: 7, Major: -1, Minor: -1})},
		{"rebuilt-from-list", []Rule{char(195, 255, "rw")}, runtimes(
			Entry{Bits: 7, Major: -1, Minor: -1}, Entry{true, Char, 10, 229, 6}, Entry{false, Block, 8, -1, 4})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Compose(tt.rules, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", tt.name+".golden")
			got := text(t, p)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("program (-want +got):\n%s", diff)
			}
		})
	}
}

func TestComposeMerges(t *testing.T) {
	t.Parallel()
	first, err := Compose([]Rule{char(195, 0, "rw")}, denyAll())
	if err != nil {
		t.Fatal(err)
	}
	both, err := Compose([]Rule{char(510, 1, "r"), char(195, 0, "m")}, first)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Compose([]Rule{char(195, 0, "rwm"), char(510, 1, "r")}, denyAll())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, both); diff != "" {
		t.Errorf("two prologues, one after the other (-want +got):\n%s", diff)
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	rules := []Rule{char(195, 0, "rw"), char(195, 255, "rw"), char(510, 0, "r")}
	whole, err := Compose(rules, denyAll())
	if err != nil {
		t.Fatal(err)
	}
	changed := append(Program(nil), whole...)
	changed[len(header)+4].Imm++ // The access mask of a group, not in its canonical form.
	foreign, err := Build(defaults[:])
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		in   Program
		want int // Rules found.
	}{
		{"ours", whole, 3},
		{"none", denyAll(), 0},
		{"empty", nil, 0},
		{"same header", foreign, 0},
		{"cut short", whole[:len(whole)-3], 0},
		{"prologue alone", whole[:len(whole)-2], 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, body := Split(tt.in)
			if len(got) != tt.want {
				t.Errorf("Split: got rules %v, want %d", got, tt.want)
			}
			want := tt.in
			if tt.want > 0 {
				want = denyAll()
			}
			if diff := cmp.Diff(want, body); diff != "" {
				t.Errorf("Split, body (-want +got):\n%s", diff)
			}
		})
	}
	if got, _ := Split(changed); len(got) > 0 {
		again, err := Compose(got, denyAll())
		if err != nil || cmp.Diff(again, changed) != "" {
			t.Errorf("Split of a changed prologue: got %v, whose text is another one", got)
		}
	}
}

func TestBadRules(t *testing.T) {
	t.Parallel()
	many := make([]Rule, MaxRules+1)
	for n := range many {
		many[n] = char(195, uint32(n), "rw")
	}
	tests := []struct {
		name  string
		rules []Rule
		bad   bool // An ErrBadRule.
	}{
		{"none", nil, false},
		{"too many", many, false},
		{"block device", []Rule{{'b', 8, 0, "rw"}}, true},
		{"all types", []Rule{{'a', 8, 0, "rw"}}, true},
		{"no access", []Rule{char(195, 0, "")}, true},
		{"unknown access", []Rule{char(195, 0, "rx")}, true},
		{"access twice", []Rule{char(195, 0, "rr")}, true},
		{"major too large", []Rule{char(1<<12, 0, "rw")}, true},
		{"minor too large", []Rule{char(195, 1<<20, "rw")}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Prologue(tt.rules)
			if err == nil || p != nil {
				t.Fatalf("Prologue: got %d instructions, %v, want an error", len(p), err)
			}
			if got := errors.Is(err, ErrBadRule); got != tt.bad {
				t.Errorf("Prologue: got %v; is ErrBadRule %v, want %v", err, got, tt.bad)
			}
		})
	}
	if p, err := Prologue(many[:MaxRules]); err != nil || len(p) > maxInsns/2 {
		t.Errorf("Prologue of %d rules: got %d instructions, %v", MaxRules, len(p), err)
	}
	long := make(Program, maxInsns-2)
	if _, err := Compose(many[:1], long); !errors.Is(err, ErrTooLong) {
		t.Errorf("Compose in front of %d instructions: got %v, want ErrTooLong", len(long), err)
	}
}
