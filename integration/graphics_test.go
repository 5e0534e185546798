package integration

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/gpu-hook/gpu-hook/integration/lab"
	"github.com/gpu-hook/gpu-hook/integration/need"
)

// desktop is a Debian with what graphics programs bring along: the vendor-neutral
// libraries, Mesa, X and Wayland.
func desktop(t *testing.T) string {
	t.Helper()
	return lab.System(t, "bookworm", "libgl1", "libegl1", "libgles2", "libopengl0", "libglx-mesa0", "libgbm1", "libvulkan1", "libssl3",
		"libx11-6", "libxext6", "libwayland-client0", "libwayland-server0")
}

// unloadable are the injected files that are no libraries of their own: modules
// of the X server, which has the functions that they lack.
func unloadable(name string) bool {
	return strings.HasPrefix(name, "nvidia_drv.so") || strings.HasPrefix(name, "libglxserver_nvidia.so")
}

// TestGraphics runs a full Debian container with everything that a desktop asks
// for: every library that it gets loads, every list of drivers leads to one that
// does, nvidia-smi starts, and the image's own libraries are as they were.
func TestGraphics(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.Overlay(t)
	root := desktop(t)
	host := fullHost(t, lab.Debian, 2)
	env := []string{"NVIDIA_VISIBLE_DEVICES=1", "NVIDIA_DRIVER_CAPABILITIES=graphics,display,video,compute,utility"}
	for _, layout := range []string{"private", "direct"} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			config := "[mounts]\nlayout = \"" + layout + "\"\n"
			plan := plannedOK(t, lab.NewBundle(t, root, lab.Options{Host: host, Env: env, Config: config}))
			var questions []string
			for _, l := range plan.Loader.Libraries {
				if !unloadable(l.Name) {
					questions = append(questions, "load:"+l.Name)
				}
			}
			if len(questions) < 30 {
				t.Fatalf("the plan has only %d libraries", len(questions))
			}
			questions = append(questions, "load:libGLX_indirect.so.0", "load:libnvidia-egl-wayland.so.1", "open:/dev/dri/card0",
				"open:/dev/nvidia-modeset", "stat:/dev/dri/card1", "stat:/dev/dri/by-path/pci-0000:20:00.0-card")
			b := lab.NewBundle(t, root, lab.Options{
				Host: host, Overlay: true, Env: env, Config: config,
				Args:   []string{"/bin/sh", "-c", "/usr/bin/witness " + strings.Join(questions, " ") + graphicsScript},
				Mounts: []specs.Mount{lab.Bind(lab.OldWitness(t), "/usr/bin/witness", "ro")},
			})
			got := lab.Run(t, lab.Runc(t), b, lab.Box{Cgroups: lab.Machine})
			if got.Code != 0 {
				t.Fatalf("runc ended with %d: %s\n%s", got.Code, got.Stderr, got.Stdout)
			}
			for _, q := range questions {
				if f, ok := got.Facts[q]; strings.HasPrefix(q, "load:") && (!ok || f.Error != "") {
					t.Errorf("%s: %+v", q, f)
				}
			}
			wantListsLoad(t, got.Stdout)
			if strings.Contains(got.Stdout, "LDD ") {
				t.Errorf("libraries with something missing:\n%s", lines(got.Stdout, "LDD "))
			}
			if !strings.Contains(got.Stdout, "couldn't communicate with the NVIDIA driver") || !strings.Contains(got.Stdout, "SMI 9") {
				t.Errorf("nvidia-smi did not start and find no driver:\n%s", got.Stdout)
			}
			if f := got.Facts["load:libGLX_indirect.so.0"]; !strings.Contains(f.Real, "libGLX_mesa") {
				t.Errorf("libGLX_indirect.so.0 is %+v, want the image's own: Mesa's", f)
			}
			if f := got.Facts["stat:/dev/dri/card1"]; f.Errno == 0 {
				t.Errorf("the container has the other GPU's card: %+v", f)
			}
			wantImageKept(t, b.Upper)
		})
	}
}

// graphicsScript asks ldd for what is missing, shows each list of drivers, and
// starts nvidia-smi.
const graphicsScript = `
for f in $(ldconfig -p | sed -n 's/.*=> //p' | grep -i nvidia; ls /usr/local/nvidia/lib64/*.so.* 2>/dev/null); do
	ldd $f 2>&1 | grep 'not found' | sed "s|^|LDD $f|"
done
for f in /etc/vulkan/icd.d/* /etc/vulkan/implicit_layer.d/* /usr/share/glvnd/egl_vendor.d/*nvidia* /usr/share/egl/egl_external_platform.d/*; do
	echo "LIST $f $(tr -d '\n\t' <$f)"
	/usr/bin/witness load:$(sed -n 's/.*"library_path" *: *"\([^"]*\)".*/\1/p' $f)
done
/usr/bin/witness load:$(cat /etc/OpenCL/vendors/nvidia.icd)
nvidia-smi
echo SMI $?
`

// wantListsLoad checks that every list of drivers names a library by its file
// name and that it loads.
func wantListsLoad(t *testing.T, out string) {
	t.Helper()
	facts := lab.ParseFacts(t, out)
	seen := 0
	for line := range strings.Lines(lines(out, "LIST ")) {
		_, rest, _ := strings.Cut(line, "LIST ")
		name, text, _ := strings.Cut(rest, " ")
		var list struct{ ICD, Layer struct{ Library_path string } }
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		library := list.ICD.Library_path + list.Layer.Library_path
		if f, ok := facts["load:"+library]; !ok || f.Error != "" || path.IsAbs(library) {
			t.Errorf("%s names %q: %+v", name, library, f)
		}
		seen++
	}
	if seen != 5 {
		t.Errorf("%d lists of drivers, want 5:\n%s", seen, lines(out, "LIST "))
	}
	if f := facts["load:libnvidia-opencl.so.1"]; f.Error != "" || f.Path == "" {
		t.Errorf("OpenCL's list: %+v", f)
	}
}

// lines are the lines of a text with a prefix.
func lines(text, prefix string) string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// wantImageKept checks that nothing vendor-neutral was written into the image.
func wantImageKept(t *testing.T, upper string) {
	t.Helper()
	err := filepath.WalkDir(upper, func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && slices.ContainsFunc(append(neutralNames(), "libGLX_indirect.so.0"), func(n string) bool {
			return strings.HasPrefix(e.Name(), n)
		}) {
			t.Errorf("the image's %s was touched", strings.TrimPrefix(name, upper))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
