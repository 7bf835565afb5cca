package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/decide"
)

// TestRunWithoutCommandLine: commands can be called with a context, streams and
// options, without the command line.
func TestRunWithoutCommandLine(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_RUNTIME_DIR", "")
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "PERMD_SOCKET", "PERMD_ADMIN_SOCKET"} {
		t.Setenv(name, "")
	}
	const calls = `{"tool":{"name":"Bash"},"input":{"command":"git status"}}`
	tests := []struct {
		name string
		run  func(a *app) error
		code int
		says string
	}{
		{"version", func(a *app) error { return a.version() }, cli.ExitOK, "permd "},
		{"log list", func(a *app) error { return a.logList(t.Context(), logOptions{limit: 1}) }, cli.ExitError, "there is no journal yet"},
		{"status", func(a *app) error { return a.status(t.Context()) }, cli.ExitUnreachable, "permd serve"},
		{"decide", func(a *app) error {
			return a.decide(t.Context(), "-", &decideOptions{local: true, Session: decide.Session{Cwd: home, Agent: "claude-agent-acp"}})
		}, cli.ExitAsk, "ask: "}, // a home is no project
		{"init", func(a *app) error { return a.initialise(false) }, cli.ExitOK, "wrote"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			a := &app{Streams: cli.Streams{In: strings.NewReader(calls), Out: &out, Err: &out}, root: filepath.Join(home, "root")}
			if code := a.report(tt.run(a)); code != tt.code || !strings.Contains(out.String(), tt.says) {
				t.Errorf("exit code %d, want %d:\n%s", code, tt.code, out.String())
			}
		})
	}
}
