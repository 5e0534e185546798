package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// imageNoted has a cuda-compat package whose libcuda has a note, as packages
// for CUDA 12.9 and newer have it.
func imageNoted(note string) func(t *testing.T, root string) {
	return func(t *testing.T, root string) {
		t.Helper()
		image12("550")(t, root)
		driver := lab.DriverFiles(t, "550")
		libcuda := filepath.Join(root, compatDir, "libcuda.so."+driver.Version)
		lab.AddNote(t, libcuda, note)
		if info, err := os.Stat(libcuda); err != nil || info.Size() < 1<<20 {
			t.Fatalf("the libcuda with a note: %v, %v", info, err)
		}
	}
}

// TestCompatNotes has NVIDIA's libcuda with a note on the drivers it works
// with: the note decides, not the version alone.
func TestCompatNotes(t *testing.T) {
	t.Parallel()
	need.Root(t)
	const lists = `{"format":1,"cuda version":"12.4","driver":[470,525,535],"device":[1,2,7]}`
	for _, c := range []cudaCase{
		{name: "listed", host: "470", image: imageNoted(lists), decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir, reason: "made to work with drivers of branch 470"},
		{name: "listed, same major", host: "535", image: imageNoted(lists), decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir},
		{name: "not listed", host: "535", image: imageNoted(`{"format":1,"cuda version":"12.4","driver":[470]}`), decision: compat.KindMinor, driver: 12020, count: 100, reason: "the host has 535"},
		{
			name: "not listed, other major", host: "470", image: imageNoted(`{"format":1,"cuda version":"12.4","driver":[525,535]}`),
			decision: compat.KindIncompatible, driver: 11040, count: 35, warnings: []string{"cuda-incompatible"}, reason: "the host has 470",
		},
		{
			name: "not listed, forced", host: "470", image: imageNoted(`{"format":1,"cuda version":"12.4","driver":[525,535]}`), config: compatForce,
			decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir, warnings: []string{"compat-forced"},
		},
		{
			name: "for Jetson", host: "470", image: imageNoted(`{"format":1,"cuda version":"12.4"}`),
			decision: compat.KindIncompatible, driver: 11040, count: 35, warnings: []string{"cuda-incompatible"}, reason: "Jetson",
		},
		{
			name: "damaged", host: "470", image: imageNoted(`{"format":1,"driver":[470`), warnings: []string{"compat-note-unreadable"},
			decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir,
		},
		{name: "geforce", host: "535", gpus: []string{rtx3090}, image: imageNoted(lists), decision: compat.KindMinor, driver: 12020, count: 100, reason: rtx3090},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, c.do(t))
		})
	}
}
