package policy

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/permd/permd/internal/testload"
)

// parallelTests is how many parallel tests run at a time. They wait for quiet periods and
// events, so they do not need a processor each.
const parallelTests = 16

func TestMain(m *testing.M) {
	testload.Parallel(parallelTests)
	goleak.VerifyTestMain(m)
}
