package main

import (
	"strings"
	"testing"
)

// TestMCPEnds: the exit code is that of the server, and it ends with its client.
func TestMCPEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts the gateway once more; TestMCP is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"the server's code", []string{"--", "sh", "-c", "cat >/dev/null; exit 7"}, 7, ""},
		{"a server that ends at once", []string{"--", "true"}, 0, ""},
		{"no server", []string{"--", "/nonexistent/server"}, 1, "is the server installed"},
		{"no command", nil, 2, "the server's command is missing"},
	} {
		cmd := d.command(append([]string{"mcp", "--name", "x"}, tt.args...)...)
		cmd.Stdin = strings.NewReader("")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != tt.code || !strings.Contains(string(out), tt.says) {
			t.Errorf("%s: %v\n%s", tt.name, err, out)
		}
	}
	for _, name := range []string{"", "a:b", "a b", "a*", `"a"`, "\u00e4", strings.Repeat("a", 65)} {
		if out, err := d.command("mcp", "--name", name, "--", "true").CombinedOutput(); err == nil || !strings.Contains(string(out), "--name") {
			t.Errorf("with the name %q: %v\n%s", name, err, out)
		}
	}
}
