package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/eventually"
)

// wire is a connection on which a test writes and reads the bytes itself.
type wire struct {
	net.Conn
	lines *bufio.Reader
}

// answer is a client's answer to a message, as far as it decides whether the tool call
// may run. The zero answer means that the connection was closed.
type answer struct {
	Verdict string // of a decision, the strictest of several
	By      string // who decided
	Reason  string
	Picked  string // the ACP option
	ID      string // of the first decision
	Code    int    // of an error that is no decision
	Text    string // its message
}

// allowed reports whether a client could take the answer for an allow.
func (a answer) allowed() bool { return a.Verdict == "allow" || strings.HasPrefix(a.Picked, "allow") }

// wire connects to the decision socket.
func (d *testDaemon) wire(t *testing.T) *wire { return dialWire(t, d.socket()) }

func dialWire(t *testing.T, path string) *wire {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(eventually.Limit)); err != nil {
		t.Fatal(err)
	}
	return &wire{c, bufio.NewReaderSize(c, 1<<20)}
}

// session is a connection with a declared session s1 in the project.
func (d *testDaemon) session(t *testing.T, project string) *wire {
	t.Helper()
	w := d.wire(t)
	if got := w.ask(t, declaration("s1", project)); got != (answer{}) {
		t.Fatalf("permd/session: %+v", got)
	}
	return w
}

// ask sends a line and reads one answer, each within a minute.
func (w *wire) ask(t *testing.T, line string) answer {
	t.Helper()
	if err := w.SetWriteDeadline(time.Now().Add(eventually.Limit)); err != nil {
		return answer{}
	}
	if _, err := io.WriteString(w, line+"\n"); err != nil {
		return answer{}
	}
	return w.next(t)
}

// next reads one answer, within a minute.
func (w *wire) next(t *testing.T) answer {
	t.Helper()
	if err := w.SetReadDeadline(time.Now().Add(eventually.Limit)); err != nil {
		return answer{}
	}
	line, err := w.lines.ReadBytes('\n')
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("no answer came")
	}
	if err != nil {
		return answer{} // closed; a part of a line is no answer
	}
	a, err := parseAnswer(line)
	if err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return a
}

func parseAnswer(line []byte) (answer, error) {
	type decision struct {
		DecisionID, Verdict, DecidedBy, Reason string
	}
	var m struct {
		Result *struct {
			Decisions []decision
			Outcome   struct{ OptionID, Outcome string }
			Meta      struct{ Permd decision } `json:"_meta"`
		}
		Error *struct {
			Code    int
			Message string
			Data    decision
		}
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return answer{}, fmt.Errorf("reading the answer: %w", err)
	}
	var ds []decision
	var a answer
	switch {
	case m.Error != nil && m.Error.Code == -32050:
		ds = []decision{m.Error.Data}
	case m.Error != nil:
		a.Code, a.Text = m.Error.Code, m.Error.Message
	case m.Result != nil && m.Result.Decisions != nil:
		ds = m.Result.Decisions
	case m.Result != nil && m.Result.Outcome.Outcome != "":
		ds, a.Picked = []decision{m.Result.Meta.Permd}, m.Result.Outcome.OptionID
	}
	strict := map[string]int{"allow": 1, "ask": 2, "deny": 3}
	for i, d := range ds {
		if i == 0 {
			a.ID = d.DecisionID
		}
		if strict[d.Verdict] == 0 {
			return a, fmt.Errorf("the verdict is %q", d.Verdict)
		}
		if strict[d.Verdict] > strict[a.Verdict] {
			a.Verdict, a.By, a.Reason = d.Verdict, d.DecidedBy, d.Reason
		}
	}
	return a, nil
}

// The messages of tests, each on one line.

func declaration(session, cwd string) string {
	return request("permd/session", map[string]any{
		"sessionId": session, "cwd": cwd, "agent": map[string]string{"name": "claude-agent-acp", "version": "0.100.0"},
	})
}

// decideLine asks about a command in permd's own form.
func decideLine(command string) string {
	return toolLine("Bash", map[string]any{"command": command})
}

func toolLine(tool string, input any) string {
	return request("permd/decide", map[string]any{"sessionId": "s1", "calls": []any{
		map[string]any{"callId": "c1", "tool": map[string]string{"name": tool}, "input": input},
	}})
}

// acpLine asks about a command as an ACP agent does.
func acpLine(command string) string {
	return request("session/request_permission", map[string]any{
		"sessionId": "s1", "options": acpOptions,
		"toolCall": map[string]any{
			"toolCallId": "t1", "kind": "execute", "title": command, "rawInput": map[string]string{"command": command},
			"_meta": map[string]any{"claudeCode": map[string]string{"toolName": "Bash"}},
		},
	})
}

var acpOptions = []map[string]string{
	{"optionId": "allow-always", "name": "Always Allow", "kind": "allow_always"},
	{"optionId": "allow-once", "name": "Allow", "kind": "allow_once"},
	{"optionId": "reject", "name": "Reject", "kind": "reject_once"},
}

// withID gives a message another id than 1.
func withID(line string, id int) string {
	return strings.Replace(line, `"id":1,`, fmt.Sprintf(`"id":%d,`, id), 1)
}

func request(method string, params any) string {
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		panic(err) // of a test's own literals
	}
	return string(b)
}
