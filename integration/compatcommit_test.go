package integration

import (
	"testing"

	"github.com/gpu-hook/gpu-hook/compat"
	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// TestCompatCommitted runs a container with an overlay, makes an image of what
// it left (docker commit), and runs that on other hosts: what is left is
// harmless without a GPU and renewed with one.
func TestCompatCommitted(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.Overlay(t)
	for _, layout := range []string{"private", "direct"} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			base := cudaCase{
				host: "470", image: image12("550"), env: []string{"CUDA_VERSION=12.4.1"}, reload: true,
				config: "[mounts]\nlayout = \"" + layout + "\"\n", decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir,
			}
			first := base.do(t)
			base.check(t, first)
			committed := first.bundle.Upper + ":" + first.bundle.Root
			if left := lab.Leftovers(t, first.bundle.Upper); layout == "private" && left != nil {
				t.Errorf("empty driver files left in the image: %q", left)
			}
			for _, c := range []cudaCase{
				{name: "newer host", host: "550", decision: compat.KindHost, driver: 12040, count: 100},
				{name: "the same host", host: "470", decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir},
				{name: "another old host", host: "450", decision: compat.KindForward, driver: 12040, count: 100, overlay: compatDir},
				{name: "geforce", host: "535", gpus: []string{rtx3090}, decision: compat.KindMinor, driver: 12020, count: 100},
			} {
				t.Run(c.name, func(t *testing.T) {
					c.env, c.config, c.reload = base.env, base.config, true
					r := c.run(t, lab.Runc(t), cudaHost(t, c.host, c.gpus...), committed)
					c.check(t, r)
					// What the second host left is an image, too.
					again := base
					again.check(t, again.run(t, lab.Runc(t), cudaHost(t, "470"), r.bundle.Upper+":"+committed))
				})
			}
			t.Run("no GPU", func(t *testing.T) {
				b := lab.NewBundle(t, committed, lab.Options{
					Overlay: true, Stages: []string{}, Args: []string{"/bin/sh", "-c", "ldconfig && /bin/witness driver:libcuda.so.1 runtime:libcudart.so.12"},
				})
				r := lab.Run(t, lab.Runc(t), b, lab.Box{})
				if r.Code != 0 || count(r.Facts) != 35 && count(r.Facts) != 100 {
					t.Errorf("without a GPU: %d, %s, %+v", r.Code, r.Stderr, r.Facts)
				}
			})
		})
	}
}
