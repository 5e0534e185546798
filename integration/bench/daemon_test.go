package main

import "testing"

func TestMajor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       int
	}{
		{"Debian", "Docker version 20.10.24+dfsg1, build 5d6db84\n", 20},
		{"Docker's own", "Docker version 28.2.2, build e6534b4\n", 28},
		{"nothing", "", 0},
		{"nonsense", "Docker version x.y", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := major(version(tt.text)); got != tt.want {
				t.Errorf("major: %d, want %d", got, tt.want)
			}
		})
	}
}
