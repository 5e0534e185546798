package systemd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/godbus/dbus/v5"
)

// Names of the bus interface, from org.freedesktop.systemd1(5).
const (
	service        = "org.freedesktop.systemd1"
	managerPath    = dbus.ObjectPath("/org/freedesktop/systemd1")
	setProperties  = "org.freedesktop.systemd1.Manager.SetUnitProperties"
	getProperty    = "org.freedesktop.DBus.Properties.Get"
	managerFace    = "org.freedesktop.systemd1.Manager"
	unknownMember  = "org.freedesktop.DBus.Error.UnknownProperty"
	propertyPolicy = "DevicePolicy"
	propertyAllow  = "DeviceAllow"
	propertyBPF    = "BPFProgram"
	propertyCgroup = "ControlGroup"
)

// Address is one place where systemd answers.
type Address struct {
	Path    string // A Unix socket.
	Private bool   // systemd's own socket: there is no bus to say hello to.
}

// Addresses are where to look, best first. The private socket is the slower
// one, but there also without a bus daemon. The environment is not asked: a
// createContainer hook has the container's.
func Addresses() []Address {
	return []Address{
		{Path: "/run/dbus/system_bus_socket"},
		{Path: "/run/systemd/private", Private: true},
	}
}

// Bus is a connection to systemd.
type Bus struct{ conn *dbus.Conn }

var errNoAddress = errors.New("no address")

// Dial connects to the first address that answers.
func Dial(ctx context.Context, addresses []Address) (*Bus, error) {
	err := errNoAddress
	for n, a := range addresses {
		b, dialErr := dial(ctx, a)
		if dialErr == nil {
			return b, nil
		}
		if n == 0 || ctx.Err() == nil {
			err = dialErr // The last one's; errors.Join would make two lines.
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("connect to systemd: %w", err)
}

// stream is the transport. godbus's own for Unix sockets, which can pass file
// descriptors, panics when the connection ends inside of a message (v5.2.4,
// transport_unix.go: ReadMsgUnix returns -1 bytes); the plain one reads byte by
// byte, hence the buffer.
type stream struct {
	*bufio.Reader
	net.Conn
}

// Read returns the next bytes from the buffer.
func (s stream) Read(b []byte) (int, error) { return s.Reader.Read(b) }

func dial(ctx context.Context, a Address) (*Bus, error) {
	socket, err := (&net.Dialer{}).DialContext(ctx, "unix", a.Path)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = socket.SetDeadline(deadline)
	}
	conn, err := dbus.NewConn(stream{bufio.NewReader(socket), socket}, dbus.WithContext(ctx))
	if err != nil {
		_ = socket.Close()
		return nil, err
	}
	// The handshake takes no context; the deadline, and closing the connection
	// when the context ends, are what stops it.
	err = conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))})
	if err == nil && !a.Private {
		err = conn.Hello()
	}
	if err != nil {
		_ = conn.Close()
		return nil, cause(ctx, err)
	}
	return &Bus{conn}, nil
}

// cause returns the context's error where that is what ended a call.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

// Close ends the connection.
func (b *Bus) Close() error {
	if err := b.conn.Close(); err != nil {
		return fmt.Errorf("close bus connection: %w", err)
	}
	return nil
}

// Version returns the version of systemd as it names it, such as "252.39-1".
func (b *Bus) Version(ctx context.Context) (string, error) {
	var v dbus.Variant
	err := b.conn.Object(service, managerPath).CallWithContext(ctx, getProperty, 0, managerFace, "Version").Store(&v)
	if err != nil {
		return "", fmt.Errorf("ask systemd for its version: %w", cause(ctx, err))
	}
	s, ok := v.Value().(string)
	if !ok {
		return "", fmt.Errorf("ask systemd for its version: %w", errAnswer)
	}
	return s, nil
}

// Allow adds devices to the unit's DeviceAllow until the unit ends. Systemd
// appends to the list, and the same path twice stays one entry. The new device
// program is attached when the answer arrives (0 late of 2400 calls).
func (b *Bus) Allow(ctx context.Context, unit string, list []Device) error {
	return b.set(ctx, unit, property{propertyAllow, dbus.MakeVariant(list)})
}

// AllowFirst is [Bus.Allow] for cgroup v1, where systemd clears the kernel's
// list and writes it again, entry by entry, at each reload: what stands first
// is refused for the shortest time. Systemd puts entries in front of those it
// has, writes the list to a file in that order, and puts each in front again
// when it reads the file (252: dbus-cgroup.c, cgroup.c), so the file's last is
// first from the first reload on. The unit's list is emptied and given again in
// one call, as runc does it, with the devices in front.
func (b *Bus) AllowFirst(ctx context.Context, unit Unit, list []Device) error {
	return b.set(ctx, unit.Name,
		property{propertyAllow, dbus.MakeVariant([]Device{})},
		property{propertyAllow, dbus.MakeVariant(unit.first(list))})
}

type property struct {
	Name  string
	Value dbus.Variant
}

func (b *Bus) set(ctx context.Context, unit string, properties ...property) error {
	if !validName(unit) {
		return fmt.Errorf("set DeviceAllow of unit %.200q: %w", unit, ErrUnitName)
	}
	call := b.conn.Object(service, managerPath).CallWithContext(ctx, setProperties, 0, unit, true, properties)
	if call.Err != nil {
		return fmt.Errorf("set DeviceAllow of %s: %w", unit, cause(ctx, call.Err))
	}
	return nil
}
