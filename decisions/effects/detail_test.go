package effects_test

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestDetail: each detail member of an effect has a Detail of its own.
func TestDetail(t *testing.T) { effectstest.Details(t, (*effects.Effect).Detail, "Via") }
