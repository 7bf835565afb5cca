package rego_test

import (
	"testing"

	"github.com/permd/permd/rego"
)

func TestEmbedded(t *testing.T) {
	if len(rego.Programs()) == 0 || len(rego.Profiles()) == 0 || len(rego.InputSchema()) == 0 {
		t.Error("something is not embedded")
	}
	first := rego.Base()
	for name := range first {
		clear(first[name])
	}
	for name, data := range rego.Base() {
		if data[0] == 0 {
			t.Errorf("%s: a caller's change is seen by the next", name)
		}
	}
}
