package systemd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"
)

// ErrUnitName is returned for a name that must not be sent. An empty one would
// change the unit of whoever calls.
var ErrUnitName = errors.New("not the name of a scope")

var errAnswer = errors.New("answer is of the wrong type")

// Device is one entry of DeviceAllow, in the order of the bus signature (ss).
type Device struct {
	Path   string // Such as "/dev/char/195:0".
	Access string // Letters of "rwm".
}

// Unit is what a scope says about devices.
type Unit struct {
	Name         string
	ControlGroup string // Its cgroup, from the root of the hierarchy.
	Policy       string // DevicePolicy: auto, closed or strict.
	Allow        []Device
	Pins         []string // Pinned device programs of BPFProgram.
	Before249    bool     // This systemd does not know BPFProgram, so it is an older one.
}

// HasPolicy says whether systemd filters the unit's devices. An entry on a unit
// with policy auto and no list would close everything else to it.
func (u Unit) HasPolicy() bool {
	return u.Policy == "strict" || u.Policy == "closed" || len(u.Allow) > 0
}

// Lacks returns those devices that are not in the unit's list yet.
func (u Unit) Lacks(list []Device) []Device {
	have := make(map[string]string, len(u.Allow))
	for _, d := range u.Allow {
		have[d.Path] += d.Access
	}
	var missing []Device
	for _, d := range list {
		for _, a := range d.Access {
			if !strings.ContainsRune(have[d.Path], a) {
				missing = append(missing, d)
				break
			}
		}
	}
	return missing
}

// first returns the unit's list with devices in front. A path that the unit has
// already keeps its access beside the new one: systemd takes the last word.
func (u Unit) first(list []Device) []Device {
	all := slices.Clone(list)
	for _, have := range u.Allow {
		n := slices.IndexFunc(list, func(d Device) bool { return d.Path == have.Path })
		if n < 0 {
			all = append(all, have)
			continue
		}
		for _, a := range have.Access {
			if !strings.ContainsRune(all[n].Access, a) {
				all[n].Access += string(a)
			}
		}
	}
	return all
}

// Scope asks for a scope's device properties: the four questions go out
// together. Systemd answers for a scope it does not know, too, with an empty
// ControlGroup, so the caller compares that with the cgroup it means.
func (b *Bus) Scope(ctx context.Context, name string) (Unit, error) {
	if !validName(name) {
		return Unit{}, fmt.Errorf("ask for unit %.200q: %w", name, ErrUnitName)
	}
	object := b.conn.Object(service, managerPath+"/unit/"+dbus.ObjectPath(label(name)))
	properties := [...]string{propertyCgroup, propertyPolicy, propertyAllow, propertyBPF}
	var calls [len(properties)]*dbus.Call
	for n, p := range properties {
		calls[n] = object.GoWithContext(ctx, getProperty, 0, make(chan *dbus.Call, 1), service+".Scope", p)
	}
	u := Unit{Name: name}
	var programs [][]any
	for n, into := range [...]any{&u.ControlGroup, &u.Policy, &u.Allow, &programs} {
		err := store(ctx, calls[n], into)
		var busErr dbus.Error
		if n == len(properties)-1 && errors.As(err, &busErr) && busErr.Name == unknownMember {
			u.Before249 = true
			continue
		}
		if err != nil {
			return Unit{}, fmt.Errorf("ask for %s of %s: %w", properties[n], name, cause(ctx, err))
		}
	}
	for _, p := range programs {
		if len(p) == 2 && p[0] == "device" {
			if path, ok := p[1].(string); ok {
				u.Pins = append(u.Pins, path)
			}
		}
	}
	return u, nil
}

func store(ctx context.Context, call *dbus.Call, into any) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case done := <-call.Done:
		var v dbus.Variant
		if err := done.Store(&v); err != nil {
			return err
		}
		if err := dbus.Store([]any{v.Value()}, into); err != nil {
			return fmt.Errorf("%w: %w", errAnswer, err)
		}
		return nil
	}
}

// validName accepts names of scopes. Only scopes are ever asked for.
func validName(name string) bool {
	// 255 is UNIT_NAME_MAX less one, basic/unit-name.h.
	return len(name) > len(".scope") && len(name) <= 255 &&
		strings.HasSuffix(name, ".scope") && !strings.ContainsAny(name, "/\x00")
}

// label escapes a unit name for an object path as systemd does
// (bus_label_escape): letters, and digits but for a first one, stay.
func label(name string) string {
	var b strings.Builder
	for n := range len(name) {
		c := name[n]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		digit := c >= '0' && c <= '9'
		if letter || digit && n > 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}
