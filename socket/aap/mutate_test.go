package aap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/mutate"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/sockettest"
)

// allowList is a decider that allows exactly two calls of the samples, denies
// deploying, and asks about everything else.
type allowList struct{ sockettest.Unchanged }

var allowedCalls = []string{
	`client read_workspace_file {"path":"CHANGELOG.md"}`,
	`server search_docs {"q":"staging deploy window"}`,
}

func (l *allowList) Decide(_ context.Context, reqs ...*decisions.Request) []*decisions.Decision {
	var list []*decisions.Decision
	for _, r := range reqs {
		d := &decisions.Decision{ID: "d", CallID: r.Call.ID, Verdict: decisions.Ask, By: decisions.ByDefault, Effects: []decisions.EffectDecision{}}
		of := server
		if r.Call.Tool.Server == "" {
			of = client
		}
		var input any
		_ = json.Unmarshal(r.Call.Input, &input) // nil for none
		switch {
		case r.Call.Tool.Name == "deploy_service":
			d.Verdict = decisions.Deny
		case r.HarnessAsks == "" && r.Call.Incomplete == "" && r.Call.Defects == nil && slices.Contains(allowedCalls, callText(string(of), r.Call.Tool.Name, input)):
			d.Verdict = decisions.Allow
		}
		list = append(list, d)
	}
	return list
}

func callText(of, name string, input any) string {
	b, _ := json.Marshal(input)
	return of + " " + name + " " + string(b)
}

// hostile are texts that an attacker may put anywhere.
var hostile = []string{
	"", "call_a1", "call_a3", "call_a4", "search_docs", "read_workspace_file", "deploy_service", "tool_call", "tool_result", "tool_use", "end_turn",
	"turn_start", "turn_stop", "user", "tool", "tool_permission", "assistant", "\u202egnp.exe", "a\x00b", "\x1b[2J", "../../etc/passwd", "\u200bsearch_docs", strings.Repeat("x", 70<<10),
}

// streamMutants changes a stream by its lines.
func streamMutants(text string) (list []mutate.Mutant) {
	lines := strings.Split(text, "\n")
	add := func(what string, i int, with ...string) {
		changed := strings.Join(slices.Concat(lines[:i], with, lines[i+1:]), "\n")
		list = append(list, mutate.Mutant{What: fmt.Sprintf("line %d %s", i, what), Doc: changed})
	}
	for i, line := range lines {
		add("is lost", i)
		add("stands twice", i, line, line)
		add("is a comment", i, ":"+line)
		add("is upper case", i, strings.ToUpper(line))
		add("has a space before", i, " "+line)
		add("ends in CR", i, line+"\r")
		add("ends in two CRs", i, line+"\r\r")
		add("has an empty line before", i, "", line)
		add("goes on", i, line+" ")
		add("has a line separator", i, strings.Replace(line, " ", "\u2028", 1))
		for _, name := range events {
			add("is "+name, i, "event: "+name)
			if strings.HasPrefix(line, "event:") {
				add("has another name before", i, "event: "+name, line)
			}
		}
		for j, other := range lines {
			if strings.HasPrefix(line, "data:") && strings.HasPrefix(other, "data:") && i != j {
				add(fmt.Sprintf("is line %d", j), i, other)
				add(fmt.Sprintf("has line %d behind", j), i, line, other)
			}
		}
		for _, id := range []string{"call_a1", "call_a3", "call_a4"} {
			for _, with := range []string{"call_a1", "call_a2", "call_a4"} {
				if strings.Contains(line, id) && id != with {
					add(id+" becomes "+with, i, strings.Replace(line, id, with, 1))
				}
			}
		}
	}
	return list
}

// said are all calls and results anywhere in a document, read by a careless reader.
type said struct {
	calls map[string][]string // by id: name and input
	ended map[string]int
}

func (s *said) collect(v any) {
	switch x := v.(type) {
	case []any:
		for _, item := range x {
			s.collect(item)
		}
	case map[string]any:
		if id, ok := x["toolCallId"].(string); ok {
			if name, ok := x["name"].(string); ok {
				s.calls[id] = append(s.calls[id], callText("", name, x["input"]))
			} else if _, ok := x["content"]; ok {
				s.ended[id]++
			}
		}
		for _, value := range x {
			s.collect(value)
		}
	case string:
		if !strings.Contains(x, "data:") {
			return
		}
		for line := range strings.FieldsFuncSeq(x, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if _, data, ok := strings.Cut(line, "data:"); ok {
				var inner any
				if json.Unmarshal([]byte(data), &inner) == nil {
					s.collect(inner)
				}
			}
		}
	}
}

// TestMutants changes every sample in every place. No mutant may run a call that
// the unchanged samples would not: every call that runs is exactly one of the two
// allowed ones, and the document has no other call with its id.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it asks about thousands of changed turns")
	}
	t.Parallel()
	if testload.Race {
		t.Skip("one request after the other: there is no race to find, and the detector makes it take minutes")
	}
	list := []mutate.Mutant{}
	history := func() any { return parsed(t, sockettest.Sample(t, "07-get-history.full.response.json")) }
	for _, form := range slices.Sorted(maps.Keys(sampleTurns(t))) {
		doc := parsed(t, sampleParams(t, sampleTurns(t)[form])).(map[string]any)
		for _, m := range mutate.Of(doc, hostile) {
			list = append(list, mutate.Mutant{What: form + " " + m.What, Doc: m.Doc})
		}
		if form == "history" {
			continue
		}
		// Together with the history, which may be the one that is changed.
		doc["history"] = history()
		few := []string{"", "call_a1", "call_a4", "search_docs", "deploy_service", "user", "tool"}
		for _, m := range mutate.Of(doc, few) {
			if strings.HasPrefix(m.What, "params.history") || strings.HasPrefix(m.What, "params.turn") {
				list = append(list, mutate.Mutant{What: form + " and history " + m.What, Doc: m.Doc})
			}
		}
	}
	for _, m := range streamMutants(sockettest.Sample(t, "05-turn.tool_use.sse")) {
		doc := parsed(t, sampleParams(t, sampleTurns(t)["sse"])).(map[string]any)
		doc["turn"] = map[string]any{"sse": m.Doc}
		list = append(list, mutate.Mutant{What: "stream " + m.What, Doc: mutate.DeepCopy(doc)})
		doc["history"] = history()
		list = append(list, mutate.Mutant{What: "stream and history " + m.What, Doc: doc})
	}

	sessions := new(decisions.Sessions)
	conn := &socket.Conn{ID: 1}
	if _, err := sessions.Declare(conn.Owner(), decisions.Declaration{ID: "s", Cwd: "/home/ana/shop"}); err != nil {
		t.Fatal(err)
	}
	h := &handler{native.Deps{
		Sessions: sessions, Decider: new(allowList), Users: func(uint32) effects.User { return effects.User{} },
		NewID: func() string { return "b" },
	}}
	if len(list) < 5000 {
		t.Errorf("%d mutants, want 5,000", len(list))
	}
	list = testload.Sample(t, len(list)/4, list)
	enough := len(list) / 6 // of each outcome
	refused, ran, asked := 0, 0, 0
	for _, m := range list {
		text, err := json.Marshal(m.Doc)
		if err != nil {
			t.Fatal(err)
		}
		r, err := permissions(h, conn, text)
		if err != nil {
			refused++
			if e, ok := errors.AsType[*socket.Error](err); !ok || e.Code != socket.CodeParams {
				t.Errorf("%s: error %v", m.What, err)
			} else if len(e.Message) > 300 {
				t.Errorf("%s: the error is long: %.80s", m.What, e.Message)
			}
			continue
		}
		all := said{map[string][]string{}, map[string]int{}}
		all.collect(m.Doc)
		for _, c := range r.Calls {
			if c.Outcome == Ask || c.Outcome == Denied {
				asked++
			}
			if c.Outcome != Granted && c.Outcome != Execute {
				continue
			}
			ran++
			// The history may say the same once more.
			for _, text := range slices.Compact(slices.Sorted(slices.Values(all.calls[c.ToolCallID]))) {
				if !slices.Contains(allowedCalls, string(c.Side)+text) {
					t.Errorf("%s: %s %s, but %s", m.What, c.ToolCallID, c.Outcome, text)
				}
			}
			if all.ended[c.ToolCallID] > 0 && c.Outcome == Granted && !strings.Contains(m.What, "role") && !strings.Contains(m.What, "event") && !strings.Contains(m.What, "stream") {
				t.Errorf("%s: %s %s, and has a result", m.What, c.ToolCallID, c.Outcome)
			}
			if c.ToolCallID == "call_a2" || c.ToolCallID == "call_a4" {
				t.Errorf("%s: %s %s", m.What, c.ToolCallID, c.Outcome)
			}
		}
	}
	t.Logf("%d mutants: %d refused; %d calls may run, %d do not", len(list), refused, ran, asked)
	if refused < enough || ran < enough || asked < enough {
		t.Errorf("%d mutants: %d refused, %d calls may run, %d do not: it tests too little", len(list), refused, ran, asked)
	}
}

// permissions sends a document as the socket would.
func permissions(h *handler, c *socket.Conn, params strictjson.Value) (*Result, error) {
	if err := strictjson.Check(params); err != nil {
		return nil, socket.Refuse("reading message: %v", err)
	}
	run, err := h.permissions(c, params)
	if err != nil {
		return nil, err
	}
	r, err := run(context.Background())
	if err != nil {
		return nil, err
	}
	return r.(*Result), nil
}

func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
