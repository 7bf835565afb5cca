package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/internal/eventually"
)

// scripted is permd acp in front of a shell that is the agent.
func (d *testDaemon) scripted(script string) *exec.Cmd {
	return d.command("acp", "--", "/bin/sh", "-c", script)
}

// piped starts a command between two pipes of this process, which has its errors.
func piped(t *testing.T, cmd *exec.Cmd) (to io.WriteCloser, from *bufio.Reader, errs *lockedBuffer) {
	t.Helper()
	errs = new(lockedBuffer)
	cmd.Stderr = errs
	to, from = started(t, cmd)
	return to, from, errs
}

// started starts a command between two pipes of this process.
func started(t *testing.T, cmd *exec.Cmd) (to io.WriteCloser, from *bufio.Reader) {
	t.Helper()
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return to, bufio.NewReader(out)
}

// rest reads the rest of the output.
func rest(t *testing.T, from io.Reader) string {
	t.Helper()
	data, err := io.ReadAll(from)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

// TestProxySignals sends permd acp each signal with which clients and terminals end
// programs. It reaches the agent and the processes that the agent waits for, and
// permd ends like the agent.
func TestProxySignals(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a whole table of signals; TestProxyProcess is the quick one")
	}
	t.Parallel()
	// If the signals are ignored where the tests run, the programs that they start
	// ignore them too. Catching them here prevents that.
	caught := make(chan os.Signal, 1)
	all := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
	signal.Notify(caught, all...)
	defer signal.Stop(caught)
	d := newTestDaemon(t)
	for name, s := range map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT} {
		t.Run(name, func(t *testing.T) {
			// The shell handles it when the program that it waits for has ended.
			cmd := d.scripted(`ulimit -c 0; trap 'echo told; trap - ` + name + `; kill -` + name + ` $$' ` + name + `; echo ready; sleep 1000`)
			in, out, errs := piped(t, cmd)
			defer in.Close()
			if line := hear(t, out); line != "ready" {
				t.Fatal(line)
			}
			// Send it again: if the signal arrives while the shell starts the program, the
			// shell handles it only when the program has ended.
			done := make(chan struct{})
			defer close(done)
			go func() {
				for again := time.NewTicker(time.Second); ; {
					_ = cmd.Process.Signal(s)
					select {
					case <-done:
						again.Stop()
						return
					case <-again.C:
					}
				}
			}()
			if said := rest(t, out); said != "told\n" {
				t.Errorf("the agent said %q", said)
			}
			ended(t, cmd, errs, 128+int(s))
		})
	}
	t.Run("an agent that goes on", func(t *testing.T) {
		cmd := d.proxied("deaf")
		in, out, errs := piped(t, cmd)
		passes(t, in, out, "hello")
		for range 2 {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			if line := hear(t, out); line != "told" {
				t.Errorf("the agent said %q", line)
			}
			passes(t, in, out, "still here")
		}
		in.Close()
		ended(t, cmd, errs, 7)
	})
	t.Run("one that is ignored", func(t *testing.T) {
		cmd := d.command()
		cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `trap '' HUP; exec "$0" "$@"`, os.Args[0], "acp", "--", "cat"}
		in, out, errs := piped(t, cmd)
		passes(t, in, out, "hello")
		_ = cmd.Process.Signal(syscall.SIGHUP)
		passes(t, in, out, "still here")
		in.Close()
		ended(t, cmd, errs, 0)
	})
}

// TestProxyStatus ends with the agent's status, whatever it is.
func TestProxyStatus(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts the proxy for each status; TestProxyProcess is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	for script, want := range map[string]int{
		"exit 0": 0, "exit 1": 1, "exit 7": 7, "exit 255": 255,
		"ulimit -c 0; kill -SEGV $$": 128 + 11, "kill -KILL $$": 128 + 9, "kill -PIPE $$": 128 + 13,
		`test "$PWD" = / && test "$GIVEN" = "a b" && exit 5`: 5,
	} {
		cmd := d.scripted(script)
		cmd.Dir, cmd.Env = "/", append(cmd.Env, "GIVEN=a b")
		in, out, errs := piped(t, cmd)
		if said := rest(t, out); said != "" {
			t.Errorf("%s: said %q", script, said)
		}
		ended(t, cmd, errs, want)
		in.Close()
	}
}

// TestProxyGroup: the agent has its own process group, so that a terminal's signals
// reach it only once, and none of its processes outlives permd.
func TestProxyGroup(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for processes that do not end")
	}
	t.Parallel()
	for name, child := range map[string]string{"ends when told": "linger", "does not": "cling"} {
		t.Run("a process left behind that "+name, func(t *testing.T) {
			t.Parallel()
			d := newTestDaemon(t)
			r := d.relay(t, child)
			if group, err := syscall.Getpgid(r.pid); group != r.pid {
				t.Errorf("the agent is process %d of group %d, %v", r.pid, group, err)
			}
			passes(t, r.agent, r.fromAgent, "hello")
			r.end(t)
		})
	}
	t.Run("permd is killed", func(t *testing.T) {
		t.Parallel()
		r := newTestDaemon(t).relay(t)
		passes(t, r.agent, r.fromAgent, "hello")
		r.cmd.Process.Kill()
		if said := rest(t, r.agentIn); said != "" {
			t.Errorf("the agent received %q", said)
		}
		r.agent.CloseWrite()
		r.gone(t)
		ended(t, r.cmd, &r.stderr, -1)
	})
}

// TestProxyDeafClient: the client does not read, or has closed its pipe.
func TestProxyDeafClient(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for a client that never reads")
	}
	t.Parallel()
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		cmd := newTestDaemon(t).scripted(`while echo "a line that nobody reads"; do :; done`)
		r, w := pipe(t)
		cmd.Stdout = w
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		hear(t, bufio.NewReader(r))
		r.Close()
		// It ends the agent as it would without permd.
		ended(t, cmd, new(lockedBuffer), 128+13)
	})
	t.Run("open, and a signal", func(t *testing.T) {
		t.Parallel()
		// More than the pipe's buffer, less than permd queues.
		cmd := newTestDaemon(t).scripted(`head -c 500000 /dev/zero | tr '\0' x | fold -w 1000; echo said >&2; sleep 1000`)
		in, _, errs := piped(t, cmd)
		defer in.Close()
		eventually.Holds(t, "words of the agent", func() bool { return strings.Contains(errs.String(), "said\n") })
		_ = cmd.Process.Signal(syscall.SIGTERM)
		// Waiting for cmd would close the pipe.
		state, err := cmd.Process.Wait()
		if err != nil || state.ExitCode() != 128+15 {
			t.Errorf("%v, %v: %s", state, err, errs.String())
		}
	})
}

// TestProxyFiles uses files as pipes, and one pipe for two streams. Their modes are
// left unchanged.
func TestProxyFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a program or a daemon of its own; TestProxyProcess is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	t.Run("files", func(t *testing.T) {
		dir := t.TempDir()
		var lines strings.Builder
		for n := range 3000 {
			fmt.Fprintf(&lines, `{"jsonrpc":"2.0","method":"_n","params":{"n":%d}}`+"\n", n)
		}
		writeFile(t, filepath.Join(dir, "in"), lines.String())
		in, err := os.Open(filepath.Join(dir, "in"))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := os.Create(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd := d.scripted("cat")
		cmd.Stdin, cmd.Stdout = in, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended(t, cmd, new(lockedBuffer), 0)
		if got, err := os.ReadFile(out.Name()); string(got) != lines.String() {
			t.Errorf("%d bytes of %d, %v", len(got), lines.Len(), err)
		}
	})
	t.Run("nothing to read", func(t *testing.T) {
		cmd := d.scripted("cat; echo done")
		cmd.Stdin = nil
		if out, err := cmd.Output(); string(out) != "done\n" {
			t.Errorf("%q, %v", out, err)
		}
	})
	t.Run("pipes stay as they are", func(t *testing.T) {
		in, to := pipe(t)
		from, out := pipe(t)
		cmd := d.scripted("cat")
		cmd.Stdin, cmd.Stdout = in, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		passes(t, to, bufio.NewReader(from), "hello")
		to.Close()
		ended(t, cmd, new(lockedBuffer), 0)
		for name, file := range map[string]*os.File{"input": in, "output": out} {
			if blocking(t, file) {
				continue
			}
			t.Errorf("the %s was left so that others do not wait on it", name)
		}
	})
	t.Run("standard error is the same pipe", func(t *testing.T) {
		// The agent's output there is more than fits: it must wait.
		from, out := pipe(t)
		cmd := d.scripted("head -c 1000000 /dev/zero | tr '\\0' '#' >&2; echo; cat")
		cmd.Stdin = strings.NewReader("hello\n")
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out.Close()
		said := rest(t, from)
		ended(t, cmd, new(lockedBuffer), 0)
		if n := strings.Count(said, "#"); n != 1_000_000 || !strings.HasSuffix(said, "\nhello\n") {
			t.Errorf("%d of a million, and at the end %q", n, said[max(0, len(said)-20):])
		}
	})
}

// TestProxyStderr: the agent's standard error is passed on unchanged, and permd
// continues if its own messages there are not read.
func TestProxyStderr(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it fills pipes that nobody reads")
	}
	t.Parallel()
	d := newTestDaemon(t)
	t.Run("bytes", func(t *testing.T) {
		cmd := d.scripted(`printf '\377\000no line' >&2; cat`)
		in, out, errs := piped(t, cmd)
		passes(t, in, out, "hello")
		in.Close()
		ended(t, cmd, errs, 0)
		if !strings.Contains(errs.String(), "\xff\x00no line") {
			t.Errorf("%q", errs.String())
		}
	})
	t.Run("nobody reads it", func(t *testing.T) {
		_, errs := pipe(t)
		cmd := d.proxied("echo")
		cmd.Stderr = errs
		in, from := started(t, cmd)
		for range 3000 { // permd prints a message about each
			say(t, in, "[]")
			if !bytes.Contains([]byte(hear(t, from)), []byte("batches")) {
				t.Error("the batch was passed on")
			}
		}
		passes(t, in, from, "hello")
		in.Close()
		ended(t, cmd, new(lockedBuffer), 0)
	})
}

// blocking reports whether reads and writes of a file wait.
func blocking(t *testing.T, f *os.File) (yes bool) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		yes = err == nil && flags&unix.O_NONBLOCK == 0
	}); err != nil {
		t.Fatal(err)
	}
	return yes
}
