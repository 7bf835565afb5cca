package acp

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// line is one message of a transcript and its direction: c2a or a2c.
type line struct {
	Dir string  `json:"dir"`
	Msg message `json:"msg"`
}

func transcript(t testing.TB, name string) []line {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var list []line
	for raw := range bytes.Lines(data) {
		var l line
		decode(t, name, raw, &l)
		list = append(list, l)
	}
	return list
}

// replay sends a transcript to permd as an editor would: it declares the session
// that the agent opened, and forwards the messages that permd needs. It returns the
// answers to the permission requests by their ids.
func replay(t *testing.T, d *daemon, c *socket.Conn, name string) map[string]string {
	t.Helper()
	var agent, cwd string
	running := map[string]run{}
	answers := map[string]string{}
	finish := func(id string) {
		res, err := running[id](t.Context())
		if err == nil {
			answers[id] = string(member(strictjson.Value(encode(t, res)), "outcome"))
			return
		}
		answers[id] = err.Error()
	}
	for _, l := range transcript(t, name) {
		switch m := l.Msg; {
		case m.Method == "session/new":
			cwd = text(m.Params, "cwd")
		case l.Dir == "a2c" && text(m.Result, "agentInfo", "name") != "":
			agent = text(m.Result, "agentInfo", "name")
		case l.Dir == "a2c" && text(m.Result, "sessionId") != "":
			d.must(t, c, native.MethodSession, `{"sessionId":"`+text(m.Result, "sessionId")+`","cwd":"`+cwd+
				`","mode":"`+text(m.Result, "modes", "currentModeId")+`","agent":{"name":"`+agent+`"}}`)
		case m.Method == MethodUpdate, m.Method == MethodCancel:
			d.must(t, c, m.Method, string(m.Params))
		case m.Method == MethodRequestPermission:
			r, err := d.start(t, c, m.Method, string(m.Params))
			if err != nil {
				t.Fatal(err)
			}
			running[string(m.ID)] = r
		case l.Dir == "c2a" && running[string(m.ID)] != nil:
			finish(string(m.ID))
			delete(running, string(m.ID))
		}
	}
	for id := range running {
		finish(id)
	}
	return answers
}

func TestTranscripts(t *testing.T) {
	const question = "ask the person: no option says this allow and nothing more"
	t.Run("late input", func(t *testing.T) {
		// The input comes after the request, so at the time of the request there
		// was nothing to allow.
		d := newDaemon(decisions.Allow)
		answers := replay(t, d, conn(1), "transcript-opencode-late-input.jsonl")
		if call := d.last(t).Call; string(call.Input) != "{}" || call.Incomplete == "" || call.Agent.Name != "OpenCode" {
			t.Errorf("decided on %+v", call)
		}
		if answers["27"] != question {
			t.Errorf("answers %v", answers)
		}
	})
	t.Run("input before", func(t *testing.T) {
		// The request names only the id; the update before it has the input. The
		// turn is cancelled while the request is open.
		d := newDaemon(decisions.Allow)
		answers := replay(t, d, conn(1), "transcript-codex-2.6-mcp.jsonl")
		if answers["20"] != `{"outcome":"cancelled"}` {
			t.Errorf("answers %v", answers)
		}
	})
	t.Run("input before, decided", func(t *testing.T) {
		d := newDaemon(decisions.Allow)
		c := conn(1)
		for _, l := range transcript(t, "transcript-codex-2.6-mcp.jsonl") {
			switch m := l.Msg; m.Method {
			case MethodUpdate:
				d.must(t, c, m.Method, string(m.Params))
			case MethodRequestPermission:
				d.must(t, c, m.Method, string(m.Params))
			}
		}
		call := d.last(t).Call
		if call.Claims.Title != "mcp.github.create_issue" || text(call.Input, "tool") != "create_issue" ||
			string(member(call.Claims.Meta, "is_mcp_tool_approval")) != "true" || call.Incomplete != "" {
			t.Errorf("decided on %+v", call)
		}
	})
	t.Run("withdrawn", func(t *testing.T) {
		// The transport cancels a withdrawn request by its id; here the request
		// continues.
		d := newDaemon(decisions.Allow)
		answers := replay(t, d, conn(1), "transcript-agent-cancel-request.jsonl")
		if answers["4"] != `{"outcome":"selected","optionId":"allow-once"}` {
			t.Errorf("answers %v", answers)
		}
	})
	t.Run("a mode that never asks", func(t *testing.T) {
		d, c := newDaemon(decisions.Ask), conn(1)
		if answers := replay(t, d, c, "transcript-mode-switch-bypass.jsonl"); len(answers) > 0 {
			t.Errorf("answers %v", answers)
		}
		_, _ = d.call(t, c, MethodRequestPermission, `{"sessionId":"s9","toolCall":{"toolCallId":"t1"},`+onceOptions+`}`)
		if r := d.last(t); r.Session.Mode != "yolo" || text(r.Call.Input, "command") != "rm -rf build" {
			t.Errorf("decided on %+v", r)
		}
	})
}
