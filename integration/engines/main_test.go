package engines

import (
	"os"
	"testing"

	"github.com/gpu-hook/gpu-hook/integration/lab"
)

// TestMain builds gpu-hook once for all tests.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	return lab.WithHook(m.Run)
}
