package hook

import (
	"fmt"
	"io"
	"strings"
)

// WriteText writes the plan for a person: what the container gets, why this
// libcuda, and what to watch out for.
func (p Plan) WriteText(w io.Writer) error {
	var b strings.Builder
	p.writeHead(&b)
	if p.Action == Inject {
		p.writeGPUs(&b)
		p.writeCompat(&b)
	}
	if p.Action == Inject && !p.refused() {
		p.writeDevices(&b)
		p.writeFiles(&b)
	}
	p.writeTail(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (p Plan) writeHead(b *strings.Builder) {
	name := "The container"
	if p.Container.ID != "" {
		name = "Container " + printable(p.Container.ID)
	}
	switch {
	case p.refused():
		fmt.Fprintf(b, "%s does not start (exit code %d).\n", name, p.Exit.Code)
	case p.Action == Inject:
		fmt.Fprintf(b, "%s gets %s.\n", name, count(len(p.GPUs), "GPU"))
	default:
		fmt.Fprintf(b, "%s is left as it is: %s.\n", name, p.Reason)
	}
	p.writeExit(b)
	if p.Request.Source == "legacy" {
		b.WriteString("  asked for by   the image's age: it has CUDA_VERSION and no NVIDIA_REQUIRE_CUDA\n")
	} else if p.Request.Source != "" {
		fmt.Fprintf(b, "  asked for by   %s = %s\n", p.Request.Source, printable(strings.Join(p.Request.Devices, ",")))
	}
	if len(p.Request.Capabilities) > 0 {
		fmt.Fprintf(b, "  capabilities   %s\n", strings.Join(p.Request.Capabilities, ", "))
	}
	if p.Driver.Version != "" {
		fmt.Fprintf(b, "  host driver    %s (CUDA %s), files under %s\n", p.Driver.Version, orUnknown(p.Driver.CUDA), p.Driver.Root)
	}
	if p.Container.Entry != "" && p.Container.Entry != EntrySetns {
		fmt.Fprintf(b, "  way in         %s\n", p.Container.Entry)
	}
	if p.RulesNote != "" {
		fmt.Fprintf(b, "  device rules   %s\n", p.RulesNote)
	}
}

func (p Plan) writeGPUs(b *strings.Builder) {
	if len(p.GPUs) > 0 {
		b.WriteString("\nGPUs\n")
	}
	for _, g := range p.GPUs {
		fmt.Fprintf(b, "  %-3d %s  %s  %s (%s)\n", g.Index, g.BusID, orUnknown(g.UUID), g.Model, g.Class)
	}
}

func (p Plan) writeDevices(b *strings.Builder) {
	if len(p.DeviceNodes) > 0 {
		b.WriteString("\nDevice nodes\n")
	}
	for _, n := range p.DeviceNodes {
		fmt.Fprintf(b, "  %-28s %s %d:%d  %s %d:%d  by %s\n", n.Path, n.Type, n.Major, n.Minor, n.Mode, n.UID, n.GID, n.Method)
	}
	if len(p.DeviceRules) > 0 {
		rules := make([]string, 0, len(p.DeviceRules))
		for _, r := range p.DeviceRules {
			rules = append(rules, fmt.Sprintf("%s %d:%d %s", r.Type, r.Major, r.Minor, r.Access))
		}
		fmt.Fprintf(b, "\nCgroup rules\n  %s\n", strings.Join(rules, ", "))
	}
}

func (p Plan) writeFiles(b *strings.Builder) {
	if len(p.Mounts) > 0 {
		b.WriteString("\nDriver files (read-only)\n")
	}
	for _, m := range p.Mounts {
		note := ""
		if m.Cover {
			note = "  (covers the image's own file)"
		}
		fmt.Fprintf(b, "  %s%s\n", m.Target, note)
	}
	if len(p.Symlinks) > 0 {
		b.WriteString("\nLinks\n")
	}
	for _, l := range p.Symlinks {
		fmt.Fprintf(b, "  %s -> %s\n", l.Path, l.Target)
	}
	for _, d := range p.Hidden {
		fmt.Fprintf(b, "\nHidden: %s (see the warnings)\n", d)
	}
	if p.Loader.Cache != "" {
		fmt.Fprintf(b, "\nLoader\n  %s, cache: %s, directories: %s\n", p.Loader.Kind, p.Loader.Cache, strings.Join(p.Loader.Dirs, ", "))
	}
}

func (p Plan) writeTail(b *strings.Builder) {
	if len(p.Warnings) > 0 {
		b.WriteString("\nWarnings\n")
	}
	for _, w := range p.Warnings {
		paragraph(b, "  ", w.Code+": "+w.Message)
	}
	if len(p.Notes) > 0 {
		b.WriteString("\nNotes\n")
	}
	for _, n := range p.Notes {
		paragraph(b, "  ", n)
	}
}

func count(n int, noun string) string {
	switch n {
	case 0:
		return "the driver but no " + noun
	case 1:
		return "1 " + noun
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// printable quotes text that came from an image or a user where it holds
// anything a terminal would act on.
func printable(s string) string {
	q := fmt.Sprintf("%.200q", s)
	if q == `"`+s+`"` {
		return s
	}
	return q
}
