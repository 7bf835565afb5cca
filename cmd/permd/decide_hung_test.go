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

// TestDecideHungDaemon: permd decide does not wait for a daemon that takes connections
// and never answers.
func TestDecideHungDaemon(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	if err := os.MkdirAll(filepath.Dir(d.socket()), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", d.socket())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := d.command("decide", "--agent", "claude-agent-acp", "-")
	cmd.Stdin = strings.NewReader(`{"tool":{"name":"Bash"},"input":{"command":"git status"}}`)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // how it ended is its exit code
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitUnreachable || out.Len() > 0 ||
		!strings.Contains(errs.String(), "did not answer within 5s") || !strings.Contains(errs.String(), "permd doctor") {
		t.Errorf("exit code %d, want %d; it said %s%s", code, cli.ExitUnreachable, &out, &errs)
	}
}
