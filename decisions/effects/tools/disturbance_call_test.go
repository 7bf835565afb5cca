package tools

import (
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestDatabaseOfTheSession has a call that reads a database which an earlier call
// wrote.
func TestDatabaseOfTheSession(t *testing.T) {
	w := toolWorld(t)
	w.Table, w.FS = effectstest.Table(t), effectstest.ProgramFiles()
	look := agentCall("claude-code", "Bash", `{"command":"sqlite3 -readonly -safe app.db 'select 1'"}`)
	if why := whyUnknown(w.Effects(look)); why != "" {
		t.Errorf("by itself: %s", why)
	}
	for _, file := range []string{"app.db", "app.db-wal", "app.db-journal"} {
		look.Before = w.Effects(agentCall("claude-code", "Write", `{"file_path":"`+effectstest.Cwd+"/"+file+`","content":"x"}`)).After
		if why := whyUnknown(w.Effects(look)); why == "" {
			t.Errorf("after %s was written, it is known", file)
		}
	}
}
