package main

import (
	"fmt"
	"path/filepath"
	"testing"
)

// TestGateGuarded: a guarded file asks once at its gate, although no rule of a
// person matches it; other files pass.
func TestGateGuarded(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon for guarded files alone; TestGates is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	d.start(t)
	project := d.project(t, map[string]string{".env": "A=canary", "README.md": "x"})
	m := d.mirror(t, project, "claude-agent-acp", 1)
	reads := func(id int, name string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"fs/read_text_file","params":{"sessionId":"s","path":%q}}`, id, filepath.Join(project, name))
	}
	m.passes(reads(1, "README.md"))
	if got := m.replies(m.question(reads(2, ".env")), "permd-once"); got != reads(2, ".env") {
		t.Error(got)
	}
	// The agent asks, and does just that.
	m.shows(fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c3","name":"Read","title":"Read .env","kind":"read","rawInput":{"file_path":%q}},%s}}`,
		filepath.Join(project, ".env"), mirrorOptions))
	m.picks(3, "yes")
	m.passes(reads(4, ".env"))
	m.question(reads(5, ".env"))
}
