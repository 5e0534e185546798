package driver

import (
	"path"
	"strings"
	"testing"
)

func TestBareJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text, want string
		changed          bool
	}{
		{name: "name", text: `{"ICD":{"library_path" : "libGLX_nvidia.so.0"}}`, want: `{"ICD":{"library_path" : "libGLX_nvidia.so.0"}}`},
		{
			name: "path", text: "{\n\t\"ICD\": {\n\t\t\"library_path\" :\n \"/nix/store/x/lib/libGLX_nvidia.so.0\",\n\t\t\"api_version\": \"1.3\"}}\n",
			want: "{\n\t\"ICD\": {\n\t\t\"library_path\" :\n \"libGLX_nvidia.so.0\",\n\t\t\"api_version\": \"1.3\"}}\n", changed: true,
		},
		{
			name: "two-layers", text: `[{"library_path":"/a/b.so"},{"library_path":"c.so"},{"library_path":"/d/e.so"}]`,
			want: `[{"library_path":"b.so"},{"library_path":"c.so"},{"library_path":"e.so"}]`, changed: true,
		},
		{name: "relative-path", text: `{"library_path":"../lib/x.so"}`, want: `{"library_path":"../lib/x.so"}`},
		{name: "no-end", text: `{"library_path":"/a/b.so`, want: `{"library_path":"/a/b.so`},
		{name: "no-value", text: `{"library_path"`, want: `{"library_path"`},
		{name: "empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, changed := bareJSON([]byte(tt.text))
			if string(got) != tt.want || changed != tt.changed {
				t.Errorf("bareJSON(%q) = %q, %v; want %q, %v", tt.text, got, changed, tt.want, tt.changed)
			}
		})
	}
}

func FuzzBareJSON(f *testing.F) {
	for _, seed := range []string{`{"library_path":"/a/b.so"}`, `"library_path" "/"`, `"library_path":"/a" "library_path":"/`, ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, changed := bareJSON([]byte(text))
		if !changed && string(got) != text {
			t.Errorf("bareJSON(%q) = %q without a change", text, got)
		}
		if len(got) > len(text) {
			t.Errorf("bareJSON(%q) = %q is longer", text, got)
		}
	})
}

func FuzzBareICD(f *testing.F) {
	for _, seed := range []string{"libnvidia-opencl.so.1\n", "/nix/store/x/libnvidia-opencl.so.1", " / \n", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, changed := bareICD([]byte(text))
		if name := strings.TrimSpace(text); changed != path.IsAbs(name) || changed && strings.Contains(strings.TrimPrefix(string(got), "/"), "/") {
			t.Errorf("bareICD(%q) = %q, %v", text, got, changed)
		}
	})
}

// TestDriverListText finds lists that say where on the host their library lies:
// the container gets them with the name alone.
func TestDriverListText(t *testing.T) {
	t.Parallel()
	const json, icd = "/usr/share/glvnd/egl_vendor.d/10_nvidia.json", "/etc/OpenCL/vendors/nvidia.icd"
	for _, tt := range []struct {
		name, host, target, want, code string
	}{
		{
			name: "egl", target: json, want: `{"ICD":{"library_path":"libEGL_nvidia.so.0"}}`,
			host: "link /run/opengl-driver/share/glvnd/egl_vendor.d/10_nvidia.json /nix/store/x/10_nvidia.json\n" +
				"text /nix/store/x/10_nvidia.json {\"ICD\":{\"library_path\":\"/nix/store/x/libEGL_nvidia.so.0\"}}",
		},
		{name: "egl-by-name", target: json, host: "text " + json + ` {"ICD":{"library_path":"libEGL_nvidia.so.0"}}`},
		{name: "opencl", target: icd, host: "text " + icd + " /nix/store/x/libnvidia-opencl.so.1", want: "libnvidia-opencl.so.1\n"},
		{name: "opencl-by-name", target: icd, host: "text " + icd + " libnvidia-opencl.so.1"},
		{name: "no-json", target: json, host: "text " + json + ` {"ICD":{"library_path":"/x/y.so"`, code: "bad-driver-list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files, err := Find(open(t, host(t, "lib /usr/lib64/libcuda.so."+v535+"\n"+tt.host)), query("compute", "graphics"))
			if err != nil {
				t.Fatalf("Find: %v", err)
			}
			found := false
			for _, f := range files.Files {
				if f.Target == tt.target {
					found = true
					if f.Text != tt.want && tt.code == "" {
						t.Errorf("text of %s: %q, want %q", f.Target, f.Text, tt.want)
					}
				}
			}
			if !found || hasCode(files, "bad-driver-list") != (tt.code != "") {
				t.Errorf("files %+v, warnings %v", files.Files, files.Warnings)
			}
		})
	}
}

// TestFindGDS looks for GPUDirect Storage's files in two roots.
func TestFindGDS(t *testing.T) {
	t.Parallel()
	const conf, udev = "/etc/cufile.json", "/run/udev"
	for _, tt := range []struct {
		name, driver, host string
		want               map[string]string // target to source
		notes, warnings    int
	}{
		{name: "none", want: map[string]string{}, notes: 2},
		{name: "driver-root-first", driver: "file " + conf + "\ndir " + udev, host: "file " + conf, want: map[string]string{conf: conf, udev: udev}},
		{name: "host", host: "link " + conf + " alternatives/cufile\nfile /etc/alternatives/cufile\ndir " + udev, want: map[string]string{conf: "/etc/alternatives/cufile", udev: udev}},
		{name: "wrong-kinds", host: "dir " + conf + "\nfifo " + udev, want: map[string]string{}, notes: 2, warnings: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := FindGDS(open(t, host(t, tt.driver)), open(t, host(t, tt.host)))
			files := map[string]string{}
			for _, f := range got.Files {
				files[f.Target] = f.Source
				if !f.Optional || f.Writable {
					t.Errorf("%+v: want it optional and not writable", f)
				}
			}
			if len(files) != len(tt.want) || files[conf] != tt.want[conf] || files[udev] != tt.want[udev] {
				t.Errorf("files: got %v, want %v", files, tt.want)
			}
			if len(got.Notes) != tt.notes || len(got.Warnings) != tt.warnings {
				t.Errorf("notes %q, warnings %v", got.Notes, got.Warnings)
			}
		})
	}
}
