package systemdtest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/gpu-hook/gpu-hook/devices/cgroup/systemd"
)

// answer returns the reply to a call, or nothing where none is to be sent.
func (s *Server) answer(msg *dbus.Message) *dbus.Message {
	member, _ := msg.Headers[dbus.FieldMember].Value().(string)
	path, _ := msg.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
	switch {
	case member == "Hello":
		return reply(msg, ":1.1")
	case s.Mode == HangAtCall:
		return nil
	case member == "SetUnitProperties":
		return s.set(msg)
	case member == "Get" && len(msg.Body) == 2:
		return s.get(msg, unitName(string(path)), fmt.Sprint(msg.Body[1]))
	}
	s.note(member)
	return failure(msg, "org.freedesktop.DBus.Error.UnknownMethod")
}

func (s *Server) note(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

// set takes DeviceAllow, appending as systemd does; an empty list empties it.
func (s *Server) set(msg *dbus.Message) *dbus.Message {
	unit, _ := msg.Body[0].(string)
	s.note("Set " + unit)
	switch s.Mode {
	case HangAtSet:
		return nil
	case Refuse:
		return failure(msg, "org.freedesktop.DBus.Error.AccessDenied")
	}
	s.mu.Lock()
	u := s.Units[unit]
	properties, _ := msg.Body[2].([][]any)
	for _, p := range properties {
		var list []systemd.Device
		if v, ok := p[1].(dbus.Variant); ok && p[0] == "DeviceAllow" && dbus.Store([]any{v.Value()}, &list) == nil {
			if len(list) == 0 {
				u.Allow = nil
			}
			u.Allow = append(u.Allow, u.Lacks(list)...)
		}
	}
	s.Units[unit] = u
	s.mu.Unlock()
	if s.OnAllow != nil {
		s.OnAllow(unit)
	}
	return reply(msg)
}

func (s *Server) get(msg *dbus.Message, unit, property string) *dbus.Message {
	s.note(strings.TrimSpace("Get " + property + " " + unit))
	u := s.Unit(unit)
	if s.Mode == WrongTypes {
		return reply(msg, dbus.MakeVariant(uint32(7)))
	}
	switch property {
	case "Version":
		return reply(msg, dbus.MakeVariant(s.Version))
	case "ControlGroup":
		return reply(msg, dbus.MakeVariant(u.ControlGroup))
	case "DevicePolicy":
		return reply(msg, dbus.MakeVariant(u.Policy))
	case "DeviceAllow":
		return reply(msg, dbus.MakeVariant(append([]systemd.Device{}, u.Allow...)))
	case "BPFProgram":
		if s.Mode == NoPins {
			return failure(msg, "org.freedesktop.DBus.Error.UnknownProperty")
		}
		pins := []systemd.Device{} // The same signature, (ss).
		for _, p := range u.Pins {
			pins = append(pins, systemd.Device{Path: "device", Access: p})
		}
		return reply(msg, dbus.MakeVariant(pins))
	}
	return failure(msg, "org.freedesktop.DBus.Error.UnknownProperty")
}

// unitName undoes the escaping of an object path.
func unitName(path string) string {
	_, label, ok := strings.Cut(path, "/unit/")
	if !ok {
		return ""
	}
	var b strings.Builder
	for n := 0; n < len(label); n++ {
		if label[n] == '_' && n+2 < len(label) {
			if c, err := strconv.ParseUint(label[n+1:n+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				n += 2
				continue
			}
		}
		b.WriteByte(label[n])
	}
	return b.String()
}

func reply(call *dbus.Message, body ...any) *dbus.Message {
	m := &dbus.Message{
		Type: dbus.TypeMethodReply,
		Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldReplySerial: dbus.MakeVariant(call.Serial()),
		},
		Body: body,
	}
	if len(body) > 0 {
		m.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(body...))
	}
	return m
}

func failure(call *dbus.Message, name string) *dbus.Message {
	m := reply(call, "no")
	m.Type = dbus.TypeError
	m.Headers[dbus.FieldErrorName] = dbus.MakeVariant(name)
	return m
}
