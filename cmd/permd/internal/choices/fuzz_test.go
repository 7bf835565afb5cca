package choices

import (
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/socket/admin"
)

// FuzzImport: of whatever a file says, only allows and denies are added, each by a line that can be
// read, in a scope that lasts, and each has its words.
func FuzzImport(f *testing.F) {
	f.Add([]byte("allow:\n  run: ['go test *']\ndeny:\n  read: [./secret/**]\nask:\n  connect: [a.example]\n"))
	f.Add([]byte(`{"choiceId":"c1","verdict":"allow","kind":"run","rule":"go test *","line":true,"scope":"project","of":"/p"}` + "\n"))
	f.Add([]byte(`{"choiceId":"c1","verdict":"deny","kind":"run","rule":"x","scope":"user","parts":[{"kind":"read","rule":"/a","line":true}],"expires":"2030-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"choiceId":"c1","verdict":"ask"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseImport(data, &admin.NewChoice{Scope: "project", Dir: "/p"}, time.Unix(1.7e9, 0))
		if err != nil {
			return
		}
		if len(p.Words) != len(p.Choices) {
			t.Fatalf("%d choices have %d words", len(p.Choices), len(p.Words))
		}
		for _, c := range p.Choices {
			if c.Verdict != decisions.Allow && c.Verdict != decisions.Deny || c.Scope != "project" && c.Scope != "user" || c.ExpiresIn < 0 {
				t.Errorf("%+v is added", c)
			}
			if _, err := pattern.Parse(effects.Kind(c.Kind), c.Line); err != nil {
				t.Errorf("%+v is added: %v", c, err)
			}
		}
	})
}
