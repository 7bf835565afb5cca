package shell

import (
	"testing"

	"github.com/permd/permd/internal/testload"
)

func TestMain(m *testing.M) {
	testload.CollectRarely()
	testload.Rapid()
	m.Run()
}
