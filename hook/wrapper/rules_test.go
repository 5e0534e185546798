package wrapper

import (
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/hook"
)

func TestGranted(t *testing.T) {
	t.Parallel()
	n := func(v int64) *int64 { return &v }
	rule := hook.DeviceRule{Type: "c", Major: 195, Minor: 0, Access: "rw"}
	deny := specs.LinuxDeviceCgroup{Access: "rwm"}
	tests := []struct {
		name string
		list []specs.LinuxDeviceCgroup
		want bool
	}{
		{"empty", nil, false},
		{"denied", []specs.LinuxDeviceCgroup{deny}, false},
		{"privileged", []specs.LinuxDeviceCgroup{{Allow: true, Access: "rwm"}}, true},
		{"exact", []specs.LinuxDeviceCgroup{deny, {Allow: true, Type: "c", Major: n(195), Minor: n(0), Access: "rw"}}, true},
		{"more-than-asked", []specs.LinuxDeviceCgroup{deny, {Allow: true, Type: "c", Major: n(195), Minor: n(0), Access: "rwm"}}, true},
		{"less-than-asked", []specs.LinuxDeviceCgroup{deny, {Allow: true, Type: "c", Major: n(195), Minor: n(0), Access: "r"}}, false},
		{"in-two-entries", []specs.LinuxDeviceCgroup{deny, {Allow: true, Type: "c", Major: n(195), Access: "r"}, {Allow: true, Type: "a", Access: "w"}}, true},
		{"wildcard", []specs.LinuxDeviceCgroup{deny, {Allow: true, Type: "c", Major: n(-1), Minor: n(-1), Access: "rwm"}}, true},
		{"make-only", []specs.LinuxDeviceCgroup{deny, {Allow: true, Type: "c", Access: "m"}}, false},
		{"another-minor", []specs.LinuxDeviceCgroup{deny, {Allow: true, Type: "c", Major: n(195), Minor: n(1), Access: "rwm"}}, false},
		{"block", []specs.LinuxDeviceCgroup{deny, {Allow: true, Type: "b", Major: n(195), Minor: n(0), Access: "rwm"}}, false},
		{"denied-again", []specs.LinuxDeviceCgroup{{Allow: true, Access: "rwm"}, {Type: "c", Major: n(195), Access: "w"}}, false},
		{"no-access-is-all", []specs.LinuxDeviceCgroup{{Allow: true}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := granted(tt.list, rule); got != tt.want {
				t.Errorf("granted = %v, want %v", got, tt.want)
			}
		})
	}
}
