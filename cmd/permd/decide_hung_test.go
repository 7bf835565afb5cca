package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/cli"
)

// TestDecideHungDaemon: permd decide and permd status do not wait for a daemon that takes
// connections and never answers.
func TestDecideHungDaemon(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for seconds; TestFailures is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	for _, path := range []string{d.socket(), d.adminSocket()} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	for _, args := range [][]string{{"decide", "--agent", "claude-agent-acp", "-"}, {"status"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			cmd := d.command(args...)
			cmd.Stdin = strings.NewReader(`{"tool":{"name":"Bash"},"input":{"command":"git status"}}`)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			_ = cmd.Run() // how it ended is its exit code
			if code := cmd.ProcessState.ExitCode(); code != cli.ExitUnreachable || out.Len() > 0 ||
				!strings.Contains(errs.String(), "did not answer within 5s") || !strings.Contains(errs.String(), "permd doctor") {
				t.Errorf("exit code %d, want %d; it said %s%s", code, cli.ExitUnreachable, &out, &errs)
			}
		})
	}
}
