package aap

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/sockettest"
)

// TestSamples has every sample of the protocol, with what is read from it or
// written in its form.
func TestSamples(t *testing.T) {
	tested := map[string]func(t *testing.T, text string){
		"01-get-meta.response.json": func(t *testing.T, text string) {
			w := &parties{agent: "release-helper"}
			if err := w.readMeta(strictjson.Value(text)); err != nil {
				t.Fatal(err)
			}
			sockettest.Diff(t, "version", "0.9.4", w.version)
			sockettest.Diff(t, "tools", map[string]bool{"search_docs": true, "deploy_service": true}, w.exposed)
		},
		"02-post-sessions.request.json": readsSession,
		"03-post-sessions.response.json": func(t *testing.T, text string) {
			var p permissionsParams
			if err := socket.ReadParams("it", strictjson.Value(text), &p); err != nil || p.SessionID != "sess_7Qm2" {
				t.Errorf("%+v, %v", p, err)
			}
		},
		"04-post-turn.user.request.json": func(t *testing.T, text string) {
			v, err := object("it", strictjson.Value(text))
			if err != nil {
				t.Fatal(err)
			}
			messages, _ := v.Get("messages")
			items, err := readMessages("messages", messages)
			if err != nil || len(items) != 1 || items[0].kind != itemUser {
				t.Errorf("%+v, %v", items, err)
			}
		},
		"05-turn.tool_use.sse":              func(t *testing.T, _ string) { decidesSample(t, "sse") },
		"06-turn.stream-none.response.json": func(t *testing.T, _ string) { decidesSample(t, "none") },
		"07-get-history.full.response.json": func(t *testing.T, _ string) { decidesSample(t, "history") },
		"08-post-turn.results-and-permissions.request.json": func(t *testing.T, text string) {
			d := newDaemon(t)
			d.verdicts["read_workspace_file"] = decisions.Allow
			b := d.must(t, MethodPermissions, sampleParams(t, sampleTurns(t)["sse"])).BatchID
			r := d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"`+b+`","answers":[
				{"toolCallId":"call_a4","verdict":"deny","reason":"staging deploys need a change ticket"},
				{"toolCallId":"call_a2","verdict":"deny"}],"results":[{"toolCallId":"call_a1","content":"# Changelog\n"}]}`)
			var want struct {
				Messages []message `json:"messages"`
			}
			if err := strictjson.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			// The text of the client's denial is the client's own.
			want.Messages[1].Content = strictjson.Value(`"Tool call denied"`)
			sockettest.Diff(t, "messages", posts(t, &Result{Messages: want.Messages}), posts(t, r))
		},
		"09-tool_permission.granted.json": func(t *testing.T, text string) {
			d := newDaemon(t)
			d.verdicts["deploy_service"] = decisions.Allow
			d.verdicts["read_workspace_file"], d.verdicts["open_editor_diff"] = decisions.Deny, decisions.Deny
			r := d.must(t, MethodPermissions, sampleParams(t, sampleTurns(t)["sse"]))
			var want message
			if err := strictjson.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			sockettest.Diff(t, "message", posts(t, &Result{Messages: []message{want}}), posts(t, &Result{Messages: r.Messages[2:]}))
		},
		"10-get-session.response.json": readsSession,
	}
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		if name == "fuzz" {
			continue
		}
		test := tested[name]
		if test == nil {
			t.Errorf("%s is not tested", name)
			continue
		}
		t.Run(name, func(t *testing.T) { test(t, sockettest.Sample(t, name)) })
	}
	if len(files) < len(tested) {
		t.Errorf("%d samples for %d tests", len(files), len(tested))
	}
}

// readsSession reads the owners of tools from a session.
func readsSession(t *testing.T, text string) {
	var p permissionsParams
	if err := socket.ReadParams("it", strictjson.Value(text), &p); err != nil {
		t.Fatal(err)
	}
	w, err := p.readParties()
	if err != nil {
		t.Fatal(err)
	}
	sockettest.Diff(t, "client", map[string]bool{"read_workspace_file": true, "open_editor_diff": true}, w.client)
	sockettest.Diff(t, "server", map[string]bool{"search_docs": true, "deploy_service": true}, w.server)
}

// decidesSample decides the samples' turn in one of its forms: they all say the
// same.
func decidesSample(t *testing.T, form string) {
	d := newDaemon(t)
	d.verdicts["read_workspace_file"], d.verdicts["open_editor_diff"] = decisions.Allow, decisions.Deny
	d.message, d.digest = "no diffs here", "abc"
	r := d.must(t, MethodPermissions, sampleParams(t, sampleTurns(t)[form]))
	sockettest.Diff(t, "outcomes", []string{
		"call_a1 client execute", "call_a2 client denied: no diffs here", "call_a3 server skip: it has its result", "call_a4 server ask",
	}, outcomes(r))
	sockettest.Diff(t, "needs", needs{Answers: []string{"call_a4"}, Results: []string{"call_a1"}}, r.Needs)
	if r.Messages != nil || r.Policy.Digest != "abc" || d.batches != 2 { // in both orders
		t.Errorf("messages %v, digest %q, %d batches", r.Messages, r.Policy.Digest, d.batches)
	}
	var tools []string
	for _, q := range d.got {
		tools = append(tools, q.Call.Tool.Server+":"+q.Call.Tool.Name+" "+string(q.Call.Input))
		if q.Call.Protocol != "aap" || q.Call.Agent.Name != "release-helper" || q.Call.Agent.Version != "0.9.4" || q.Call.Client.Name != "playground" ||
			q.Call.Cwd != "/home/ana/shop" || q.Call.InputFrom != "input" || q.Session.ID != "s" || q.Peer.PID != 7 || q.Call.User.UID != 1000 {
			t.Errorf("the request is %+v", q)
		}
	}
	want := []string{
		`:read_workspace_file {"path":"CHANGELOG.md"}`,
		`:open_editor_diff {"path":"CHANGELOG.md","patch":"@@ -1 +1,2 @@\n # Changelog\n+## 4f2c9e1\n"}`,
		`release-helper:deploy_service {"service":"payments","environment":"staging","revision":"4f2c9e1"}`,
	}
	for i := range tools {
		tools[i] = compact(t, tools[i])
	}
	for i := range want {
		want[i] = compact(t, want[i])
	}
	if !slices.Equal(tools, want) {
		t.Errorf("calls %q, want %q", tools, want)
	}
}

// compact takes the white space out of the input after a tool's name.
func compact(t *testing.T, s string) string {
	t.Helper()
	i := slices.Index([]byte(s), ' ')
	v := strictjson.Value(s[i+1:]).Clone()
	if err := v.Compact(); err != nil {
		t.Fatal(err)
	}
	return s[:i+1] + string(v)
}
