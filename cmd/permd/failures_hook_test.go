package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/permd/permd/socket/hook/hooktest"
)

// undecidedHooks is what each harness does if a hook has no decision: it asks if
// that is certain, otherwise it stops the call.
var undecidedHooks = map[string]string{
	"claude": hooktest.Asks, "claude, plan": hooktest.Asks, "claude, sub-agent": hooktest.Asks, "claude, asked": hooktest.Leaves,
	"codex, asked": hooktest.Leaves, "gemini": hooktest.Asks,
}

// wantUndecided runs the hook of every harness at once, for a call that the daemon
// would allow.
func wantUndecided(t *testing.T, d *testDaemon, why string) {
	t.Helper()
	var all sync.WaitGroup
	for _, s := range hookShell {
		all.Go(func() {
			want := undecidedHooks[s.name]
			if want == "" {
				want = hooktest.Stops
			}
			out := d.hook(t, s.harness, hookInput(s.in, filepath.Join(d.home, "project"), probe))
			wantHook(t, s.name, s.harness, s.event, out, want)
			if said := string(out.Stdout) + out.Stderr; want != hooktest.Leaves && !strings.Contains(said, why) {
				t.Errorf("%s: it does not say %q: %s", s.name, why, said)
			}
		})
	}
	all.Wait()
}

// wantHooksAllowed is the control: the call is allowed.
func wantHooksAllowed(t *testing.T, d *testDaemon) {
	t.Helper()
	for _, s := range hookShell {
		want := hooktest.Runs
		if s.name == "codex" || s.name == "claude, plan" {
			want = hooktest.Leaves
		}
		out := d.hook(t, s.harness, hookInput(s.in, d.project(t, nil), probe))
		wantHook(t, "control, "+s.name, s.harness, s.event, out, want)
	}
}

func hooksUnreachable(t *testing.T) {
	d := newTestDaemon(t)
	d.project(t, nil)
	wantUndecided(t, d, "not reachable")
	d.start(t)
	wantHooksAllowed(t, d)
	d.kill() // the socket stays and nobody listens
	wantUndecided(t, d, "not reachable")
	d.start(t)
	wantHooksAllowed(t, d)
	if err := os.Chmod(filepath.Dir(d.socket()), 0o777); err != nil {
		t.Fatal(err)
	}
	wantUndecided(t, d, "not trusting")
}

// pretend listens in place of the daemon; serve gets each line of each connection
// and returns the answer, or false to close the connection.
func (d *testDaemon) pretend(t *testing.T, serve func(c net.Conn, line string) bool) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(d.socket()), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", d.socket())
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer c.Close()
				lines := bufio.NewScanner(c)
				lines.Buffer(nil, 1<<20)
				for lines.Scan() {
					if !serve(c, lines.Text()) {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { ln.Close(); conns.Wait() })
}

// hooksSilent: the hook has its own time limit.
func hooksSilent(t *testing.T) {
	d := newTestDaemon(t)
	d.pretend(t, func(net.Conn, string) bool { return true })
	wantUndecided(t, d, "permd: cannot decide")
}

func hooksBrokenOff(t *testing.T) {
	for name, serve := range map[string]func(c net.Conn, line string) bool{
		"at once":           func(net.Conn, string) bool { return false },
		"within the answer": func(c net.Conn, _ string) bool { fmt.Fprint(c, `{"jsonrpc":"2.0","id":1,"resu`); return false },
		"before it decides": func(c net.Conn, line string) bool {
			if strings.Contains(line, "permd/decide") {
				return false
			}
			return pretendDeclared(c, line)
		},
		"within the decision": func(c net.Conn, line string) bool {
			if strings.Contains(line, "permd/decide") {
				fmt.Fprint(c, strings.TrimSuffix(pretendDecision("allow"), "}]}}\n"))
				return false
			}
			return pretendDeclared(c, line)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newTestDaemon(t)
			d.pretend(t, serve)
			wantUndecided(t, d, "permd: cannot decide")
		})
	}
}

// pretendID is the id of a request in a line.
func pretendID(line string) string {
	_, rest, _ := strings.Cut(line, `"id":`)
	id, _, _ := strings.Cut(rest, ",")
	return id
}

func pretendDeclared(c net.Conn, line string) bool {
	_, err := c.Write([]byte(`{"jsonrpc":"2.0","id":` + pretendID(line) + `,"result":{}}` + "\n"))
	return err == nil
}

func pretendDecision(verdict string) string {
	return `{"jsonrpc":"2.0","id":ID,"result":{"decisions":[{"decisionId":"d","callId":"CALL","verdict":"` + verdict + `","needed":"none","reason":"r","decidedBy":"policy","policy":{"digest":"x"},"effects":[]}]}}` + "\n"
}

// hooksNonsense: only a decision of this very call counts.
func hooksNonsense(t *testing.T) {
	allow := pretendDecision("allow")
	swap := func(old, with string) string { return strings.Replace(allow, old, with, 1) }
	for name, answer := range map[string]string{
		"no JSON":                          "allow\n",
		"no decisions":                     `{"jsonrpc":"2.0","id":ID,"result":{}}` + "\n",
		"an empty list":                    `{"jsonrpc":"2.0","id":ID,"result":{"decisions":[]}}` + "\n",
		"a null":                           `{"jsonrpc":"2.0","id":ID,"result":{"decisions":[null]}}` + "\n",
		"an empty decision":                `{"jsonrpc":"2.0","id":ID,"result":{"decisions":[{}]}}` + "\n",
		"result and error":                 swap(`"result"`, `"error":{"code":1,"message":"x"},"result"`),
		"an error":                         `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"broken"}}` + "\n",
		"no id":                            `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"broken"}}` + "\n",
		"another version":                  swap(`"2.0"`, `"1.0"`),
		"another call":                     swap(`"CALL"`, `"another"`),
		"two decisions":                    swap(`"decisions":[`, `"decisions":[{"verdict":"allow","callId":"CALL"},`),
		"a doubled verdict":                swap(`"verdict":"allow"`, `"verdict":"deny","verdict":"allow"`),
		"in other letters":                 swap(`"verdict":"allow"`, `"Verdict":"deny","verdict":"allow"`),
		"an unknown verdict":               swap(`"allow"`, `"ALLOW"`),
		"a verdict of a kind that is none": swap(`"allow"`, `true`),
	} {
		t.Run(name, func(t *testing.T) {
			d := newTestDaemon(t)
			d.pretend(t, func(c net.Conn, line string) bool {
				if !strings.Contains(line, "permd/decide") {
					return pretendDeclared(c, line)
				}
				_, rest, _ := strings.Cut(line, `"callId":"`)
				call, _, _ := strings.Cut(rest, `"`)
				_, err := c.Write([]byte(strings.NewReplacer("ID", pretendID(line), "CALL", call).Replace(answer)))
				return err == nil
			})
			wantUndecided(t, d, "permd: cannot decide")
		})
	}
	t.Run("control", func(t *testing.T) {
		d := newTestDaemon(t)
		d.pretend(t, func(c net.Conn, line string) bool {
			if !strings.Contains(line, "permd/decide") {
				return pretendDeclared(c, line)
			}
			_, rest, _ := strings.Cut(line, `"callId":"`)
			call, _, _ := strings.Cut(rest, `"`)
			_, err := c.Write([]byte(strings.NewReplacer("ID", pretendID(line), "CALL", call).Replace(allow)))
			return err == nil
		})
		wantHooksAllowed(t, d)
	})
}

// hooksOpenInput: a harness that does not close the hook's input still gets an
// answer in time.
func hooksOpenInput(t *testing.T) {
	d := startDaemon(t)
	cmd := d.command("hook", "claude")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	cmd.Stdin = r
	if _, err := w.WriteString(hookInput(hookShell[0].in, d.project(t, nil), probe)); err != nil {
		t.Fatal(err)
	}
	wantHook(t, "an open input", "claude", "", runHook(t, cmd), hooktest.Stops)
}

// hooksAfter: after a tool, a hook says nothing and exits with 0, whether there is no
// daemon, or one that is silent, breaks off, or is older and knows no such report.
func hooksAfter(t *testing.T) {
	inputs := map[string]string{
		"claude":  `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"t"}`,
		"codex":   `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"t"}`,
		"gemini":  `{"session_id":"s","hook_event_name":"AfterTool","tool_name":"run_shell_command","tool_input":{"command":"make"}}`,
		"cursor":  `{"conversation_id":"s","hook_event_name":"afterShellExecution","command":"make"}`,
		"copilot": `{"sessionId":"s","toolName":"bash","toolArgs":{"command":"make"},"toolResult":{}}`,
		"cline":   `{"hookName":"PostToolUse","taskId":"s","postToolUse":{"toolName":"execute_command","parameters":{"command":"make"}}}`,
	}
	silent := func(t *testing.T, d *testDaemon) {
		t.Helper()
		var all sync.WaitGroup
		for harness, in := range inputs {
			all.Go(func() {
				out := d.hook(t, harness, in, "--after")
				if said := strings.TrimSpace(string(out.Stdout)); said != "" && (harness != "cline" || said != `{"cancel":false}`) || out.Stderr != "" || out.Code != 0 {
					t.Errorf("%s: %+v", harness, out)
				}
			})
		}
		all.Wait()
	}
	d := newTestDaemon(t)
	silent(t, d)
	for name, serve := range map[string]func(c net.Conn, line string) bool{
		"silent":     func(net.Conn, string) bool { return true },
		"breaks off": func(net.Conn, string) bool { return false },
		"nonsense":   func(c net.Conn, _ string) bool { fmt.Fprintln(c, "hello"); return true },
		"older": func(c net.Conn, _ string) bool {
			fmt.Fprintln(c, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newTestDaemon(t)
			d.pretend(t, serve)
			silent(t, d)
		})
	}
}
