package decisions

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestFingerprintOfTitle: effects that were read from a title have the same fingerprint
// only with the same title.
func TestFingerprintOfTitle(t *testing.T) {
	of := func(title string) Fingerprint {
		call := &effects.Call{Claims: effects.Claims{Title: title}}
		return fingerprints(call, []effects.Effect{{Kind: effects.KindUnknown, Why: "not parsed", From: "title"}}, nil)[0]
	}
	one, again, two := of("one"), of("one"), of("two")
	if one != again || one == two {
		t.Error("one title is not told from another")
	}
}
