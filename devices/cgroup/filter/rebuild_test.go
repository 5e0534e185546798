package filter

import (
	"errors"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func number(n int64) *int64 { return &n }

func TestFromSpec(t *testing.T) {
	t.Parallel()
	denyAllThen := func(more ...specs.LinuxDeviceCgroup) []specs.LinuxDeviceCgroup {
		return append([]specs.LinuxDeviceCgroup{{Access: "rwm"}}, more...)
	}
	tests := []struct {
		name string
		list []specs.LinuxDeviceCgroup
		a    Access
		want bool
	}{
		{"null by default", denyAllThen(), Access{Char, Read | Write, 1, 3}, true},
		{"kmsg", denyAllThen(), Access{Char, Read, 1, 11}, false},
		{"mknod of anything", denyAllThen(), Access{Char, Mknod, 10, 200}, true},
		{"tun is not in all runtimes", denyAllThen(), Access{Char, Read, 10, 200}, false},
		{"any terminal", denyAllThen(), Access{Char, Read, 136, 77}, true},
		{"disk", denyAllThen(), Access{Block, Read, 8, 0}, false},
		{
			"fuse asked for", denyAllThen(specs.LinuxDeviceCgroup{Allow: true, Type: "c", Major: number(10), Minor: number(229), Access: "rw"}),
			Access{Char, Read | Write, 10, 229},
			true,
		},
		{
			"fuse asked for in two lines", denyAllThen(
				specs.LinuxDeviceCgroup{Allow: true, Type: "c", Major: number(10), Minor: number(229), Access: "r"},
				specs.LinuxDeviceCgroup{Allow: true, Type: "c", Major: number(10), Minor: number(229), Access: "w"}),
			Access{Char, Read | Write, 10, 229},
			true,
		},
		{
			"taken back", denyAllThen(
				specs.LinuxDeviceCgroup{Allow: true, Type: "c", Major: number(10)},
				specs.LinuxDeviceCgroup{Type: "c", Major: number(10), Minor: number(229)}),
			Access{Char, Read, 10, 229},
			false,
		},
		{"unbuffered is char", denyAllThen(specs.LinuxDeviceCgroup{Allow: true, Type: "u", Major: number(9)}), Access{Char, Read, 9, 1}, true},
		{"privileged", []specs.LinuxDeviceCgroup{{Allow: true, Type: "a"}}, Access{Block, Read | Write | Mknod, 8, 0}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			entries, err := FromSpec(tt.list)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Build(entries)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := p.Run(tt.a); got != tt.want || err != nil {
				t.Errorf("%+v: got %v, %v, want %v", tt.a, got, err, tt.want)
			}
		})
	}
}

func TestFromSpecRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		line specs.LinuxDeviceCgroup
	}{
		{"type", specs.LinuxDeviceCgroup{Type: "x"}},
		{"access", specs.LinuxDeviceCgroup{Access: "rwx"}},
		{"major", specs.LinuxDeviceCgroup{Major: number(1 << 12)}},
		{"minor", specs.LinuxDeviceCgroup{Minor: number(1 << 40)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := FromSpec([]specs.LinuxDeviceCgroup{tt.line}); !errors.Is(err, ErrBadRule) || got != nil {
				t.Errorf("FromSpec: got %v, %v, want ErrBadRule", got, err)
			}
		})
	}
}
