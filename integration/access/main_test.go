package access

import (
	"fmt"
	"os"
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// TestMain builds gpu-hook once for all tests.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if played, err := role(); played {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	return lab.WithHook(m.Run)
}
