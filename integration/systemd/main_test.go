package systemd

import (
	"fmt"
	"os"
	"testing"
)

// roleVariable names what the test program is inside of the box.
const roleVariable = "GPUHOOK_BOX_ROLE"

func TestMain(m *testing.M) {
	roles := map[string]func() error{"driver": drive, "hook": hook, "witness": watch}
	role, ok := roles[os.Getenv(roleVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := role(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
