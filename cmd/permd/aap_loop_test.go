package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/aap"
)

// aapRules are the rules for the test's agent: the tool read_note is the client's,
// the others are the server's.
const aapRules = `package permd.user
import rego.v2
allow contains "notes may be read" if { input.effect.kind == "use"; input.effect.server == ""; input.effect.tool == "read_note" }
allow contains "staging is free" if {
	input.effect.kind == "use"
	input.effect.server == "helper"
	startswith(input.effect.source, "http://127.0.0.1:")
	input.effect.tool == "deploy"
	input.effect.arguments.environment == "staging"
}
deny contains {"reason": "frozen since monday, see /etc/permd", "message": "production is frozen, use staging"} if {
	input.effect.kind == "use"
	input.effect.tool == "deploy"
	input.effect.arguments.environment == "production"
}
`

func aapDaemon(t *testing.T) *testDaemon {
	t.Helper()
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "aap.rego"), aapRules)
	d.start(t)
	return d
}

func calls(parts ...string) aapStep {
	var s aapStep
	for _, p := range parts {
		id, rest, _ := strings.Cut(p, " ")
		name, input, _ := strings.Cut(rest, " ")
		s.calls = append(s.calls, aapCall{ID: id, Name: name, Input: []byte(input)})
	}
	return s
}

func says(text string) aapStep { return aapStep{text: text} }

const (
	staging    = `{"environment":"staging"}`
	production = `{"environment":"production"}`
)

// yes and no answer every question, once.
func yes(c aap.Call) map[string]any {
	return map[string]any{"toolCallId": c.ToolCallID, "verdict": "allow"}
}
func no(c aap.Call) map[string]any {
	return map[string]any{"toolCallId": c.ToolCallID, "verdict": "deny", "reason": "not today"}
}

func want(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestAAPConversation runs a whole conversation in each of the protocol's three
// streams: parallel calls of both sides, a trusted tool, denials by a rule and by
// the person, calls of several steps, and a POST that fails twice.
func TestAAPConversation(t *testing.T) {
	t.Parallel()
	d := aapDaemon(t)
	for _, stream := range []string{"delta", "message", "none"} {
		t.Run(stream, func(t *testing.T) {
			if testing.Short() && stream != "delta" {
				t.Skip("long: the same conversation once more; delta is the quick one")
			}
			s := newAAPServer(t,
				calls(`c1 read_note {"n":1}`, `c2 read_note {"n":2}`, `c3 show_diff {"n":3}`, `c4 search {"q":"x"}`, `c5 deploy `+staging, `c6 deploy `+production, `c7 page {"who":"ana"}`),
				calls(`d1 search {"q":"y"}`), // trusted: the turn goes on
				calls(`e1 deploy `+staging, `e2 search {"q":"z"}`),
				says("done"),
			)
			s.newline, s.chatty = map[string]string{"delta": "\r\n"}[stream], stream != "none"
			if s.newline == "" {
				s.newline = "\n"
			}
			s.refuse = 0
			c := aapLaunch(t, d, s, stream)
			c.person = func(call aap.Call) map[string]any {
				s.mu.Lock()
				s.refuse = 2
				s.mu.Unlock()
				if call.Name == "page" {
					return no(call)
				}
				return yes(call)
			}
			c.say("ship it")
			want(t, "asked", []string{"show_diff", "page"}, c.asked)
			slices.Sort(c.ran)
			want(t, "the client ran", []string{"read_note", "read_note", "show_diff"}, c.ran)
			want(t, "the server ran", []string{`search {"q":"x"}`, `deploy ` + staging, `search {"q":"y"}`, `search {"q":"z"}`, `deploy ` + staging}, s.executed)
			if c.posts != 5 {
				t.Errorf("%d posts", c.posts)
			}
			var told []string
			for _, m := range s.sessions[c.session].history {
				if m.Role == "tool" {
					told = append(told, m.ToolCallID+" "+string(m.Content))
				}
			}
			want(t, "the model was told", []string{
				`c4 "search is done"`, `c1 "the result of c1"`, `c2 "the result of c2"`, `c3 "the result of c3"`, `c5 "deploy is done"`,
				`c6 "Tool call denied: production is frozen, use staging"`, `c7 "Tool call denied: not today"`,
				`d1 "search is done"`, `e2 "search is done"`, `e1 "deploy is done"`,
			}, told)
		})
	}
	// Each decision of a batch was made with the same rules, and all are logged.
	for _, rec := range d.records(t) {
		if rec.Protocol != "aap" || rec.Agent.Name != "helper" || rec.Client.Name != "test" {
			t.Errorf("logged is %+v", rec)
		}
	}
	d.wantNowhere(t, aapKey)
}

// wantNowhere wants a text in none of the daemon's files.
func (d *testDaemon) wantNowhere(t *testing.T, text string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(filepath.Join(d.home, ".local", "share", "permd"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			t.Errorf("%s holds %q", path, text)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
	if strings.Contains(d.output.String(), text) {
		t.Errorf("the daemon has printed %q", text)
	}
}

// TestAAPResumes: client and daemon are restarted while calls wait. Rules and
// remembered choices give the same verdicts; the person is asked again about what
// they had allowed once.
func TestAAPResumes(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it restarts the client and the daemon; TestAAPConversation is the quick one")
	}
	t.Parallel()
	for _, remembered := range []bool{false, true} {
		t.Run(fmt.Sprint("remembered ", remembered), func(t *testing.T) {
			t.Parallel()
			d := aapDaemon(t)
			s := newAAPServer(t, calls(`a1 search {"q":"x"}`, `a2 page {"who":"ana"}`, `a3 deploy `+staging, `a4 read_note {"n":1}`, `a5 deploy `+production), says("done"))
			c := aapLaunch(t, d, s, "message")
			body := c.post([]any{map[string]string{"role": "user", "content": "page ana"}})
			r := c.permissions(c.params("turn", c.turn(body)))
			answer := yes(r.Calls[1])
			if remembered {
				answer["width"], answer["scope"] = r.Calls[1].Decision.Widths[0].ID, "user"
			}
			r = c.call(aap.MethodAnswer, map[string]any{
				"sessionId": c.session, "batchId": r.BatchID, "answers": []any{answer},
				"results": []any{map[string]any{"toolCallId": "a4", "content": "the result of a4"}},
			})
			first := messagesText(t, r)
			// Neither side gets the other's messages anymore.
			c.permd.Close()
			if err := d.stop(t); err != nil {
				t.Fatal(err)
			}
			d.start(t)
			c.connect(d)
			c.person = yes
			asked := []string{"page"}
			if remembered {
				asked = nil
			}
			history := c.http("GET", "/sessions/"+c.session+"/history?type=full", nil, 200)
			again := c.permissions(c.params("history", strictjson.Value(history)))
			if remembered {
				// All that is missing is the result, which permd does not keep.
				again = c.call(aap.MethodAnswer, map[string]any{
					"sessionId": c.session, "batchId": again.BatchID,
					"results": []any{map[string]any{"toolCallId": "a4", "content": "the result of a4"}},
				})
				want(t, "the messages of both", first, messagesText(t, again))
			}
			c.resume()
			want(t, "asked", asked, c.asked)
			want(t, "the server ran", []string{`search {"q":"x"}`, `page {"who":"ana"}`, `deploy ` + staging}, s.executed)
			want(t, "the client ran", []string{"read_note"}, c.ran)
			// No call waits anymore.
			history = c.http("GET", "/sessions/"+c.session+"/history?type=full", nil, 200)
			r = c.permissions(c.params("history", strictjson.Value(history)))
			for _, call := range r.Calls {
				if call.Outcome != aap.Skip {
					t.Errorf("%s is %s", call.Name, call.Outcome)
				}
			}
		})
	}
}

// TestAAPLostAnswer: the server carries out a POST, and its answer is lost. The
// client reads the history before it posts again, and nothing runs two times.
func TestAAPLostAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it loses the answer of each POST; TestAAPConversation is the quick one")
	}
	t.Parallel()
	d := aapDaemon(t)
	s := newAAPServer(t, calls(`a1 page {"who":"ana"}`), calls(`b1 deploy `+production, `b2 page {"who":"bob"}`), says("done"))
	c := aapLaunch(t, d, s, "message")
	c.person = yes
	body := c.post([]any{map[string]string{"role": "user", "content": "page ana"}})
	turn := c.turn(body)
	r := c.permissions(c.params("turn", turn))
	r = c.call(aap.MethodAnswer, map[string]any{"sessionId": c.session, "batchId": r.BatchID, "answers": []any{yes(r.Calls[0])}})
	s.lose = 1
	if body := c.post(r.Messages); body != nil {
		t.Fatalf("it was not lost: %s", body)
	}
	history := c.http("GET", "/sessions/"+c.session+"/history?type=full", nil, 200)
	// The old turn again, with the server's present history: its call has a result.
	old := c.params("turn", turn)
	old["history"] = strictjson.Value(history)
	var err error
	if err = c.permd.Call(t.Context(), aap.MethodPermissions, old, nil); err == nil || !strings.Contains(err.Error(), "the turn does not have") {
		t.Errorf("the old turn: %v", err)
	}
	c.resume()
	want(t, "asked", []string{"page"}, c.asked)
	want(t, "the server ran", []string{`page {"who":"ana"}`, `page {"who":"bob"}`}, s.executed)
}

// brokenTurns: no call of a broken turn runs.
func brokenTurns(t *testing.T) {
	d := aapDaemon(t)
	s := newAAPServer(t, calls(`a1 deploy `+staging, `a2 read_note {"n":1}`), says("done"))
	c := aapLaunch(t, d, s, "message")
	body := string(c.post([]any{map[string]string{"role": "user", "content": "go"}}))
	outcomes := func(r *aap.Result) (list []string) {
		for _, call := range r.Calls {
			list = append(list, fmt.Sprint(call.Name, " ", call.Outcome))
		}
		return list
	}
	want(t, "control", []string{"deploy granted", "read_note execute"}, outcomes(c.permissions(c.params("turn", map[string]string{"sse": body}))))
	for name, text := range map[string]string{
		"cut":          body[:len(body)/2],
		"another turn": strings.Replace(body, "turn_stop", "turn_end", 1),
		"twice":        body + body,
	} {
		if err := c.permd.Call(t.Context(), aap.MethodPermissions, c.params("turn", map[string]string{"sse": text}), nil); err == nil {
			t.Errorf("%s: it was decided", name)
		}
	}
	// The same ids and names, but other owners than the server declares: the rule
	// does not match the trusted call.
	elsewhere := c.params("turn", map[string]string{"sse": body})
	elsewhere["endpoint"] = "https://elsewhere.example.com"
	want(t, "elsewhere", []string{"deploy ask", "read_note execute"}, outcomes(c.permissions(elsewhere)))
	swapped := strings.Replace(body, `"staging"`, `"production"`, 1)
	want(t, "swapped", []string{"deploy denied", "read_note execute"}, outcomes(c.permissions(c.params("turn", map[string]string{"sse": swapped}))))
	doubled := strings.Replace(body, "event: tool_call\n", "event: tool_call\ndata: "+`{"toolCallId":"a1","name":"deploy","input":`+production+"}\n\nevent: tool_call\n", 1)
	want(t, "doubled", []string{"deploy denied", "read_note execute"}, outcomes(c.permissions(c.params("turn", map[string]string{"sse": doubled}))))
	// Without a daemon there is no answer, and so no message.
	d.kill()
	if err := c.permd.Call(t.Context(), aap.MethodPermissions, c.params("turn", map[string]string{"sse": body}), nil); err == nil {
		t.Error("without a daemon, it was decided")
	}
	want(t, "the server ran", []string(nil), s.executed)
}
