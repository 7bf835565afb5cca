package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/internal/strictjson"
)

// chained is permd acp --proxy with a conductor that a test plays.
type chained struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr lockedBuffer
}

func (d *testDaemon) chained(t *testing.T, flags ...string) *chained {
	t.Helper()
	c := &chained{t: t, cmd: d.command(append([]string{"acp", "--proxy"}, flags...)...)}
	c.cmd.Stderr = &c.stderr
	c.in, c.out = started(t, c.cmd)
	return c
}

// say sends a line and returns the answer.
func (c *chained) say(line string) string {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		c.t.Fatal(err, c.stderr.String())
	}
	back, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatal(err, c.stderr.String())
	}
	return strings.TrimSuffix(back, "\n")
}

func (c *chained) want(line, want string) {
	c.t.Helper()
	if got := c.say(line); got != want {
		c.t.Errorf("to %s\nthe conductor was sent %s\nwant %s", line, got, want)
	}
}

// TestProxyChain plays a conversation on a conductor's pipe, with the daemon.
func TestProxyChain(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it plays two conversations; TestGates and TestProxyProcess are the quick ones")
	}
	t.Parallel()
	d := startDaemon(t)
	project := t.TempDir()
	for _, prefix := range []string{"_proxy/", "proxy/"} {
		t.Run(strings.Trim(prefix, "/"), func(t *testing.T) {
			c := d.chained(t)
			wrap := func(id, method, params string) string {
				return `{"jsonrpc":"2.0",` + id + `"method":"` + prefix + `successor","params":{"method":"` + method + `","params":` + params + `}}`
			}
			bare := func(id, method, params string) string {
				return `{"jsonrpc":"2.0",` + id + `"method":"` + method + `","params":` + params + `}`
			}
			both := func(id, method, params string) { // from the client to the agent, or back
				t.Helper()
				c.want(bare(id, method, params), wrap(id, method, params))
			}
			params := `{"protocolVersion":1,"clientInfo":{"name":"ed","version":"1"}}`
			c.want(bare(`"id":"a",`, prefix+"initialize", params), wrap(`"id":"a",`, "initialize", params))
			answer := `{"jsonrpc":"2.0","id":"a","result":{"protocolVersion":1,"agentInfo":{"name":"claude-agent-acp","version":"0.100.0"}}}`
			c.want(answer, answer)
			both(`"id":"b",`, "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, project))
			answer = `{"jsonrpc":"2.0","id":"b","result":{"sessionId":"s1"}}`
			c.want(answer, answer)
			both(`"id":"c",`, "session/prompt", `{"sessionId":"s1","prompt":[]}`)

			ask := func(id, command string) string {
				call := fmt.Sprintf(`{"toolCallId":%q,"kind":"execute","name":"Bash","rawInput":{"command":%q}}`, id, command)
				return wrap(`"id":"`+id+`",`, "session/request_permission", `{"sessionId":"s1","toolCall":`+call+`,"options":[{"optionId":"y","name":"Allow","kind":"allow_once"},{"optionId":"n","name":"Reject","kind":"reject_once"}]}`)
			}
			allowed := c.say(ask("d", "git status"))
			if id, pick := strictjson.Find([]byte(allowed), "id"), strictjson.Find([]byte(allowed), "result", "outcome", "optionId"); string(id) != `"d"` || string(pick) != `"y"` {
				t.Errorf("git status was answered %s", allowed)
			}
			shown := c.say(ask("e", "make deploy"))
			if method := strictjson.Find([]byte(shown), "method"); string(method) != `"session/request_permission"` || !strings.Contains(shown, "permd asks") {
				t.Errorf("make deploy was shown as %s", shown)
			}
			answer = `{"jsonrpc":"2.0","id":"e","result":{"outcome":{"outcome":"selected","optionId":"n"}}}`
			c.want(answer, answer)
			denied := c.say(wrap(`"id":"f",`, "fs/write_text_file", fmt.Sprintf(`{"sessionId":"s1","path":%q,"content":"x"}`, filepath.Join(d.home, ".config/permd/policy.d/x.rego"))))
			if code := strictjson.Find([]byte(denied), "error", "code"); string(code) != "-32001" {
				t.Errorf("a file of permd's own: %s", denied)
			}
			c.in.Close()
			ended(t, c.cmd, &c.stderr, 0)
		})
	}
}

// TestProxyChainAlone: without a conductor, --proxy prints what to use instead.
func TestProxyChainAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a program or a daemon of its own; TestProxyChain is the quick one")
	}
	t.Parallel()
	d := newTestDaemon(t)
	t.Run("the last of a chain", func(t *testing.T) {
		c := d.chained(t)
		if got := c.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`); !strings.Contains(got, `"id":0,"error"`) || !strings.Contains(got, "permd acp -- AGENT") {
			t.Errorf("answered %s", got)
		}
		c.in.Close()
		ended(t, c.cmd, &c.stderr, 0)
	})
	t.Run("at a terminal", func(t *testing.T) {
		_, terminal := openTerminal(t)
		cmd := d.command("acp", "--proxy")
		var stderr lockedBuffer
		cmd.Stdin, cmd.Stderr = terminal, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended(t, cmd, &stderr, cli.ExitUsage)
	})
	for name, args := range map[string][]string{
		"an agent": {"acp", "--proxy", "--", os.Args[0]}, "neither": {"acp"}, "grace alone": {"acp", "--proxy", "--grace", "1s"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := d.command(args...)
			cmd.Stdin = new(bytes.Buffer)
			_ = cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != cli.ExitUsage {
				t.Errorf("exit status %d", code)
			}
		})
	}
	t.Run("required", func(t *testing.T) {
		cmd := d.command("acp", "--proxy", "--require")
		cmd.Stdin = new(bytes.Buffer)
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitUnreachable {
			t.Errorf("exit status %d", code)
		}
	})
}
