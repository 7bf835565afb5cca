package main

import (
	"bufio"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestMCPKilled: a server that ignores SIGTERM does not outlive permd mcp.
func TestMCPKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("long: permd mcp gives the server ten seconds")
	}
	t.Parallel()
	d := newTestDaemon(t)
	cmd := d.command("mcp", "--name", "x", "--", "sh", "-c", `trap "" TERM; echo $$ >&2; while :; do sleep 0.1; done`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	says, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(says).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the server says %q", line)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the code is that of the signal
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("the server %d lives, and permd mcp ended with %v", pid, cmd.ProcessState)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
