package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/internal/testload"
)

// TestExplainSecrets: what explain shows of a command, also the lines that would allow it,
// has none of its secrets, in whatever quotes they stand.
func TestExplainSecrets(t *testing.T) {
	t.Parallel()
	var calls []byte
	commands := testload.WithShort(t, len(effectstest.SecretCommands())/10, effectstest.SecretCommands())
	for i, command := range append(commands,
		`psql -c 'CREATE USER x WITH ENCRYPTED PASSWORD '\''CANARY'\'''`, `psql -c "ALTER USER x PASSWORD 'CANARY'"`) {
		// Each has a session of its own: no line helps where an earlier call may have left the project.
		call, err := json.Marshal(map[string]any{"sessionId": fmt.Sprint(i), "calls": []any{map[string]any{
			"callId": "c",
			"tool":   map[string]string{"name": "Bash"}, "input": map[string]string{"command": strings.ReplaceAll(command, "CANARY", everywhere)},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		calls = append(append(calls, call...), '\n')
	}
	file := filepath.Join(t.TempDir(), "calls.jsonl")
	if err := os.WriteFile(file, calls, 0o600); err != nil {
		t.Fatal(err)
	}
	d := newTestDaemon(t)
	out, err := d.command("explain", "--local", "--agent", "claude-agent-acp", "--cwd", d.project(t, nil), file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if n := strings.Count(string(out), "To allow exactly this"); n < 50*len(commands)/len(effectstest.SecretCommands()) {
		t.Errorf("%d explanations say what would allow the call", n)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, everywhere) {
			t.Errorf("%s", line)
		}
	}
}
