//go:build cgo

package remember_test

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// TestWidthInOtherRoot: the session of a project works in another folder as well. What is
// allowed for the project, in any width, is not allowed there.
func TestWidthInOtherRoot(t *testing.T) {
	a, _ := rejecting(t, map[string]string{"/q/f": "x", "/p/sub/f": "x"})
	a.fs().Link("/link", "/p")
	in := func(cwd, command, root string) *decisions.Decision {
		return a.call(t, effects.Call{Tool: effects.Tool{Name: "Bash"}, Input: []byte(`{"command":"` + command + `"}`), Cwd: cwd, Roots: []string{root}})
	}
	question := in("/p", "go test ./...", "/q")
	if len(question.Widths) != 2 {
		t.Fatalf("%d widths", len(question.Widths))
	}
	for _, w := range question.Widths {
		if _, err := a.store.Keep(t.Context(), decisions.Answer{DecisionID: question.ID, Verdict: decisions.Allow, Offer: question.Offer, Width: w.ID, Scope: "project"}); err != nil {
			t.Fatal(err)
		}
	}
	wantVerdict(t, in("/p", "go test ./...", "/q"), decisions.Allow, "in the project")
	wantVerdict(t, in("/p", "cd sub && go test ./...", "/q"), decisions.Allow, "in a folder of the project")
	wantVerdict(t, in("/link", "go test ./...", "/q"), decisions.Allow, "in the project, through a link")
	wantVerdict(t, in("/p", "cd sub && go test ./...", "/p/sub"), decisions.Allow, "in a folder of the project that is named as well")
	wantVerdict(t, in("/p", "cd /q && go test ./...", "/q"), decisions.Ask, "in the other folder")
}
