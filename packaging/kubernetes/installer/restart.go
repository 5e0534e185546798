package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/godbus/dbus/v5"
)

// systemBus is the host's message bus, below the root.
const systemBus = "run/dbus/system_bus_socket"

// restart asks the host's systemd to restart the engine's unit. Containers go
// on meanwhile, this one among them.
func (i installer) restart(ctx context.Context) error {
	if i.unit == "" {
		return nil
	}
	conn, err := dbus.Connect("unix:path="+filepath.Join(i.root, systemBus), dbus.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("restart %s: %w", i.unit, err)
	}
	defer conn.Close()
	manager := conn.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
	call := manager.CallWithContext(ctx, "org.freedesktop.systemd1.Manager.RestartUnit", 0, i.unit, "replace")
	if call.Err != nil {
		return fmt.Errorf("restart %s: %w", i.unit, call.Err)
	}
	return nil
}
