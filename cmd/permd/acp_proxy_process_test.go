package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/eventually"
)

// proxied is permd acp in front of one of the agents of this test binary.
func (d *testDaemon) proxied(kind string, args ...string) *exec.Cmd {
	return d.command(append([]string{"acp", "--", os.Args[0], asAgent, kind}, args...)...)
}

// TestProxyProcess observes the agent's process: it must be as without permd.
func TestProxyProcess(t *testing.T) {
	t.Parallel()
	d := newTestDaemon(t)
	run := func(t *testing.T, cmd *exec.Cmd, stdin io.Reader) (string, string, int) {
		t.Helper()
		var out bytes.Buffer
		var errs lockedBuffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		watch := time.AfterFunc(eventually.Limit, func() { cmd.Process.Kill() })
		defer watch.Stop()
		cmd.Wait()
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	t.Run("arguments, standard error and status", func(t *testing.T) {
		out, errs, code := run(t, d.proxied("exit", "--flag", "a b", "--", "-x"), nil)
		if out != "--flag a b -- -x\n" || !strings.Contains(errs, "words of the agent\n") || code != 42 {
			t.Errorf("out %q, err %q, status %d", out, errs, code)
		}
	})
	t.Run("the client ends", func(t *testing.T) {
		var in bytes.Buffer
		for range 2000 {
			in.WriteString(`{"jsonrpc":"2.0","method":"_x","params":"` + strings.Repeat("é", 500) + `"}` + "\n")
		}
		want := in.String()
		out, _, code := run(t, d.proxied("echo"), &in)
		if out != want || code != 0 {
			t.Errorf("%d bytes came back of %d, status %d", len(out), len(want), code)
		}
	})
	t.Run("the agent crashes while the client goes on", func(t *testing.T) {
		cmd := d.proxied("crash")
		in, w, err := os.Pipe() // not closed before the end
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		defer w.Close()
		cmd.Stdin = in
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 128+9 {
			t.Errorf("status %v", err)
		}
		if out.String() != `{"jsonrpc":"2.0","method":"_whole"}`+"\n" {
			t.Errorf("the client was sent %q", out.String())
		}
	})
	t.Run("a process left behind", func(t *testing.T) {
		// That process has the agent's output open, so this returns only when it has
		// ended.
		if out, errs, code := run(t, d.proxied("orphan"), nil); code != 0 {
			t.Errorf("out %q, err %q, status %d", out, errs, code)
		}
	})
	t.Run("a signal", func(t *testing.T) {
		cmd := d.proxied("signal")
		in, lines := started(t, cmd)
		defer in.Close()
		if line, err := lines.ReadString('\n'); line != "ready\n" {
			t.Fatal(line, err)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(lines)
		if string(rest) != "the child was told\n" {
			t.Errorf("said %q", rest)
		}
		ended(t, cmd, new(lockedBuffer), 128+15)
	})
	t.Run("no agent", func(t *testing.T) {
		_, errs, code := run(t, d.command("acp", "--", "no-such-agent"), nil)
		if code != cli.ExitError || !strings.Contains(errs, "finding the agent") {
			t.Errorf("err %q, status %d", errs, code)
		}
	})
	t.Run("no --", func(t *testing.T) {
		if _, errs, code := run(t, d.command("acp", "agent"), nil); code != cli.ExitUsage {
			t.Errorf("err %q, status %d", errs, code)
		}
	})
	t.Run("required", func(t *testing.T) {
		out, errs, code := run(t, d.command("acp", "--require", "--", os.Args[0], asAgent, "exit"), nil)
		if code != cli.ExitUnreachable || out != "" {
			t.Errorf("out %q, err %q, status %d", out, errs, code)
		}
	})
}

// TestProxyRequired checks that the agent is ended if the daemon does not come back.
func TestProxyRequired(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for a daemon that is gone; TestProxyProcess is the quick one")
	}
	t.Parallel()
	d := startDaemon(t)
	cmd := d.command("acp", "--require", "--grace", "0s", "--", os.Args[0], asAgent, "echo")
	in, out, errs := piped(t, cmd)
	defer in.Close()
	if _, err := io.WriteString(in, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := out.ReadString('\n'); line != "hello\n" {
		t.Fatal(line, err)
	}
	d.kill()
	ended(t, cmd, errs, cli.ExitUnreachable)
}

// TestProxyTerminal starts permd acp at a terminal, as clients do to have their
// user log in: the agent is there in its place, with the arguments that were
// added, and talks to the terminal itself.
func TestProxyTerminal(t *testing.T) {
	t.Parallel()
	control, terminal := openTerminal(t)
	d := newTestDaemon(t)
	pid := filepath.Join(t.TempDir(), "pid")
	cmd := d.command("acp", "--", "/bin/sh", "-c", `echo $$ >"$0"; test -t 0 && test -t 1 && echo "logged in $*"`, pid, "--login")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended(t, cmd, new(lockedBuffer), 0)
	line, err := bufio.NewReader(control).ReadString('\n')
	if strings.TrimSpace(line) != "logged in --login" {
		t.Errorf("the terminal shows %q, %v", line, err)
	}
	data, err := os.ReadFile(pid)
	if err != nil || strings.TrimSpace(string(data)) != strconv.Itoa(cmd.Process.Pid) {
		t.Errorf("the agent is process %q, want %d, that of permd: %v", data, cmd.Process.Pid, err)
	}
}

// openTerminal opens both ends of a terminal.
func openTerminal(t *testing.T) (control, terminal *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this machine gives no terminals: %v", err)
	}
	t.Cleanup(func() { control.Close() })
	name := terminalName(t, control)
	terminal, err = os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine gives no terminals: %v", err)
	}
	t.Cleanup(func() { terminal.Close() })
	return control, terminal
}
