package docs

import (
	"os"
	"testing"

	"github.com/permd/permd/internal/testload"
)

// TestMain also serves tests that evaluate rules: they run one after another, so that the heap
// grows by what an evaluation builds, and by nothing else.
func TestMain(m *testing.M) {
	testload.CollectRarely()
	os.Exit(m.Run())
}
