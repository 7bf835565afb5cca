package choices

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/socket/admin"
)

// TestImportExpired: a time limit that has passed leaves a choice out, whatever it is.
func TestImportExpired(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for expires, want := range map[string]int{
		`,"expires":"0001-01-01T00:00:00Z"`: 0, `,"expires":"2020-01-01T00:00:00Z"`: 0, `,"expires":"1970-01-01T00:00:00Z"`: 0,
		`,"expires":"2030-01-01T00:00:00Z"`: 1, "": 1,
	} {
		line := fmt.Sprintf(`{"choiceId":"c1","verdict":"allow","kind":"run","rule":"mytool up","line":true,"scope":"user","created":"2026-01-01T00:00:00Z","confirmed":"2026-01-01T00:00:00Z","uid":0,"uses":0%s}`, expires)
		p, err := ParseImport([]byte(line), &admin.NewChoice{}, now)
		if err != nil || len(p.Choices) != want || len(p.LeftOut) != 1-want {
			t.Errorf("%s: %+v, %v", expires, p, err)
		}
	}
}

// TestExportExpires: a choice with a time limit is no rule, which holds for ever.
func TestExportExpires(t *testing.T) {
	t.Parallel()
	list := []admin.Choice{
		{ID: "c1", Verdict: "allow", Kind: "run", Rule: "mytool up", Line: true, Scope: "user"},
		{ID: "c2", Verdict: "allow", Kind: "run", Rule: "mytool down", Line: true, Scope: "user", Expires: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)},
		{ID: "c3", Verdict: "deny", Kind: "run", Rule: "mytool off", Line: true, Scope: "user", Expires: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	var out strings.Builder
	Export(&out, list)
	if got := out.String(); !strings.Contains(got, "mytool up") || strings.Contains(got, "mytool down") || strings.Contains(got, "mytool off") || !strings.Contains(got, "# Left out: 2 choices with a time limit") {
		t.Errorf("got %s", got)
	}
}
