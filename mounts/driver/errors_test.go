package driver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestErrorTexts holds the sentences that a user reads, whole.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  interface {
			error
			Cure() string
		}
		want, cure string
	}{
		{
			name: "mismatch",
			err:  &MismatchError{Module: "535.309.01", Files: []string{"/usr/lib64/libcuda.so.550.163.01", "/usr/lib64/libnvidia-ml.so.550.163.01"}},
			want: `find driver files: the kernel module is "535.309.01", the files on the host are "550.163.01" ` +
				`("/usr/lib64/libcuda.so.550.163.01, /usr/lib64/libnvidia-ml.so.550.163.01")`,
			cure: "reboot or reload the nvidia kernel module, or install the driver files of version 535.309.01",
		},
		{
			name: "missing",
			err:  &MissingError{Library: "libcuda.so.535.309.01", Looked: []string{"/usr/lib64", "/usr/lib"}, Absent: []string{"/lib", "/x"}},
			want: "find driver files: no libcuda.so.535.309.01 in the driver root: looked in /usr/lib64, /usr/lib (not there: 2 other places)",
			cure: "install the user-space part of the driver, or name its directory in driver.library-dirs",
		},
		{
			name: "missing-in-root",
			err:  &MissingError{Library: "libcuda.so.1", Root: "/run/nvidia/driver", Absent: []string{"/lib", "/usr/lib"}, Elsewhere: "/usr/lib64/libcuda.so.1"},
			want: `find driver files: no libcuda.so.1 in driver root "/run/nvidia/driver": no place to look in is there (not there: 2 other places)`,
			cure: `set driver.root = "/": the host has "/usr/lib64/libcuda.so.1"`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.err.Error()); diff != "" {
				t.Errorf("Error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.cure, tt.err.Cure()); diff != "" {
				t.Errorf("Cure (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMismatchVersions(t *testing.T) {
	t.Parallel()
	e := &MismatchError{Files: []string{"/b/libcuda.so.550.1.2", "/a/libcuda.so.470.1.2", "/a/libnvidia-ml.so.550.1.2", "/a/odd"}}
	if diff := cmp.Diff([]string{"470.1.2", "550.1.2"}, e.Versions()); diff != "" {
		t.Errorf("Versions (-want +got):\n%s", diff)
	}
}
