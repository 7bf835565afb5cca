package engine

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/xdg"
)

// TestLocal: an engine without memory and journal decides like the daemon's, offers
// no choices to remember, and writes no file.
func TestLocal(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	under := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	dirs := xdg.Dirs{Org: under("etc"), Config: under(".config", "permd"), Data: under(".local", "share", "permd")}
	project := under("project")
	if err := os.MkdirAll(filepath.Join(project, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	seen := 0
	to, err := Local(t.Context(), dirs, true, io.Discard, func(*decisions.Deliberation) { seen++ })
	if err != nil {
		t.Fatal(err)
	}
	type party struct {
		Name string `json:"name"`
	}
	session := map[string]any{"sessionId": "s", "cwd": project, "agent": party{"claude-agent-acp"}}
	if err := to.Call(t.Context(), "permd/session", session, nil); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]decisions.Verdict{"ls": decisions.Allow, "frob it": decisions.Ask, "rm -rf /": decisions.Deny} {
		call := map[string]any{"callId": "1", "tool": party{"Bash"}, "input": map[string]string{"command": command}}
		var out struct {
			Decisions []*decisions.Decision `json:"decisions"`
		}
		if err := to.Call(t.Context(), "permd/decide", map[string]any{"sessionId": "s", "calls": []any{call}}, &out); err != nil {
			t.Fatal(err)
		}
		if len(out.Decisions) != 1 || out.Decisions[0].Verdict != want || len(out.Decisions[0].Widths) > 0 {
			t.Errorf("%s: %+v, want %s", command, out.Decisions, want)
		}
	}
	if seen != 3 {
		t.Errorf("%d decisions were shown", seen)
	}
	if _, err := os.Stat(dirs.Data); err == nil {
		t.Error("something is left of the calls")
	}
}
