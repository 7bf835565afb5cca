package native

import (
	"testing"

	"github.com/permd/permd/internal/testload"
)

func TestMain(m *testing.M) {
	testload.Rapid()
	m.Run()
}
