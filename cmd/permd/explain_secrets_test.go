package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestExplainSecrets: what explain shows of a command, also the lines that would allow it,
// has none of its secrets, in whatever quotes they stand.
func TestExplainSecrets(t *testing.T) {
	t.Parallel()
	var calls []byte
	for _, command := range append(effectstest.SecretCommands(),
		`psql -c 'CREATE USER x WITH ENCRYPTED PASSWORD '\''CANARY'\'''`, `psql -c "ALTER USER x PASSWORD 'CANARY'"`) {
		call, err := json.Marshal(map[string]any{
			"tool": map[string]string{"name": "Bash"}, "input": map[string]string{"command": strings.ReplaceAll(command, "CANARY", everywhere)},
		})
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
	out, err := d.command("explain", "--local", "--agent", "claude-agent-acp", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, everywhere) {
			t.Errorf("%s", line)
		}
	}
}
