package loader

import (
	"fmt"
	"testing"
)

func TestAction(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		facts Facts
		want  string
	}{
		{name: "good", facts: Facts{Kind: Glibc, Cache: CacheGood}, want: "merge"},
		{name: "absent", facts: Facts{Kind: Glibc}, want: "write"},
		{name: "rejected", facts: Facts{Kind: Glibc, Cache: CacheRejected, Etc: EtcAbsent}, want: "write"},
		{name: "damaged", facts: Facts{Kind: Glibc, Cache: CacheDamaged}, want: "leave"},
		{name: "bound", facts: Facts{Kind: Glibc, Cache: CacheForeign}, want: "leave"},
		{name: "volume", facts: Facts{Kind: Glibc, Cache: CacheGood, Etc: EtcForeign}, want: "leave"},
		{name: "musl", facts: Facts{Kind: Musl}, want: "none"},
		{name: "none", want: "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.facts.Action(); got != tt.want {
				t.Errorf("Action() = %q, want %q", got, tt.want)
			}
		})
	}
	for want, got := range map[string]fmt.Stringer{
		"musl": Musl, "not-a-file": CacheNotFile, "unreadable": CacheUnreadable, "not-a-directory": EtcNotDirectory, "state 99": Kind(99),
	} {
		if got.String() != want {
			t.Errorf("String() = %q, want %q", got.String(), want)
		}
	}
}
