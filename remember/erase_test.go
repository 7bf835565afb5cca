//go:build cgo

package remember_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/remember"
)

// TestEraseFolders: a forgotten choice leaves no secret in the database that was in the
// name of the folder or project that it was bound to, and then does not come back.
func TestEraseFolders(t *testing.T) {
	t.Parallel()
	const secret = "Zq9CANARY142xW7"
	for name, tt := range map[string]struct {
		cwd, project string
		scope        remember.ScopeKind
	}{
		"folder":  {"/tmp/token=" + secret, "/p", remember.ForUser},
		"project": {"/tmp/token=" + secret, "/tmp/token=" + secret, remember.ForProject},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(path(t))
			s := open(t, o)
			q := ask(run("/opt/bin/mytool"))
			q.Effect.Run.Cwd, q.Project = tt.cwd, tt.project
			c := save(t, s, remember.Draft{Verdict: decisions.Allow, Query: q, Scope: tt.scope})
			if said(t, s, q) != "allow" {
				t.Fatal("control: it does not match")
			}
			if _, err := s.Forget(t.Context(), c.ID); err != nil {
				t.Fatal(err)
			}
			change := s.ChangeOf(c.ID)
			if _, err := s.Undo(t.Context(), nil, change, false); !errors.Is(err, remember.ErrNotUndone) {
				t.Errorf("undo: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			for _, suffix := range []string{"", "-wal"} {
				if b, err := os.ReadFile(o.Path + suffix); err == nil && bytes.Contains(b, []byte(secret)) {
					t.Errorf("the secret is in remember.db%s", suffix)
				}
			}
		})
	}
}
