//go:build cgo

package remember_test

import (
	"slices"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestTargetIsPartOfFingerprint: an agent that was allowed make lint by a remembered
// choice changes the makefile before its client runs the command. What the client is to
// run is not what was allowed.
func TestTargetIsPartOfFingerprint(t *testing.T) {
	a, _ := rejecting(t, map[string]string{"/p/Makefile": "lint:\n\ttrue\n", "/p/package.json": `{"scripts": {"lint": "x"}, "version": "1"}`})
	for _, c := range []struct{ command, file, unrelated, changed string }{
		{"make lint", "/p/Makefile", "lint:\n\ttrue\n", "lint:\n\tevil\n"},
		{"npm run lint", "/p/package.json", `{"scripts": {"lint": "x"}, "version": "2"}`, `{"scripts": {"lint": "evil"}, "version": "2"}`},
	} {
		a.allowNarrowest(t, a.in(t, "/p", c.command))
		allowed := a.in(t, "/p", c.command)
		wantVerdict(t, allowed, decisions.Allow, c.command)
		a.fs().File(c.file, c.unrelated)
		if again := a.in(t, "/p", c.command); !slices.Equal(allowed.Fingerprints, again.Fingerprints) {
			t.Errorf("%s: the same text is told apart", c.command)
		}
		a.fs().File(c.file, c.changed)
		now := a.in(t, "/p", c.command)
		wantVerdict(t, now, decisions.Ask, c.command+" with another text")
		if slices.Equal(allowed.Fingerprints, now.Fingerprints) {
			t.Errorf("%s: another text is taken for the one that was allowed", c.command)
		}
	}
}
