package rap

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/testload"
	"github.com/permd/permd/socket/sockettest"
)

const (
	toolsetSample = "01-well-known-rap-toolset.json"
	invokeSample  = "02-invocation.request.json"
	rootSample    = "10-invocation.root-thread.request.json"
)

// TestSamples has every sample of the protocol, with what is read from it or
// written in its form.
func TestSamples(t *testing.T) {
	invoke := func(t *testing.T, d *daemon, text string) *answerRead {
		return d.must(t, MethodInvoke, with(`"toolset":`+sockettest.Sample(t, toolsetSample), text))
	}
	ask := func(t *testing.T) (*daemon, *answerRead) {
		d := newDaemon(t)
		return d, invoke(t, d, sockettest.Sample(t, invokeSample))
	}
	tested := map[string]func(t *testing.T, text string){
		toolsetSample: func(t *testing.T, text string) {
			d := newDaemon(t)
			d.must(t, MethodInvoke, with(`"toolset":`+text, sockettest.Sample(t, invokeSample)))
			r := d.got[0].Call
			if r.Tool.Server != "warehouse-tools" || r.Tool.Source != "http://127.0.0.1:7410/invoke" || !r.Tool.Destructive || r.Credentials.Authorizations[0].ID != "warehouse-sso" || r.Defects != nil {
				t.Errorf("%+v", r)
			}
		},
		invokeSample: func(t *testing.T, text string) {
			d, _ := ask(t)
			r := d.got[0]
			sockettest.Diff(t, "session", decisions.SessionRef{Conn: 1, ID: "thread_pick_2", Ancestors: []string{"thread_pick", "thread_root"}}, r.Session)
			if r.Call.Tool.Name != "purge_bin" || r.Call.ID != "call_9f31" || r.Call.Claims.User != "u-2207" {
				t.Errorf("%+v", r.Call)
			}
		},
		"03-callback.user_choice.json": func(t *testing.T, text string) {
			var want UserChoice
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			_, r := ask(t)
			want.Prompt, want.CallID = r.Choice.Prompt, strictjson.Value("null") // the words are the tool's own
			want.Choices = append(want.Choices, "Yes always (everywhere)")       // the reference server has no such label
			sockettest.Diff(t, "choice", &want, r.Choice)
		},
		"04-user_choice.response.json": func(t *testing.T, text string) {
			var said struct {
				Selected int `json:"selected"`
			}
			if err := json.Unmarshal([]byte(text), &said); err != nil {
				t.Fatal(err)
			}
			d, r := ask(t)
			if r := d.must(t, MethodChoice, chosen(r.Decision.ID, said.Selected)); r.Outcome != Denied {
				t.Errorf("%+v", r)
			}
		},
		"05-callback.tool_result.denied.json": func(t *testing.T, text string) {
			var want ToolResult
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			d := newDaemon(t)
			d.verdicts["purge_bin"], d.message = decisions.Deny, "bin C-17 is under audit hold."
			r := invoke(t, d, sockettest.Sample(t, invokeSample))
			want.CallID = strictjson.Value("null")
			sockettest.Diff(t, "result", &want, r.Result)
		},
		"06-callback.tool_result.ok.json": nil, // a tool's own
		"07-callback.oauth.json":          nil, // never for permd
		"08-close_thread.request.json": func(t *testing.T, text string) {
			d, _ := ask(t)
			if r := d.must(t, MethodCloseThread, text); !*r.Closed {
				t.Error("not closed")
			}
		},
		"09-cancel_tool_call.request.json": func(t *testing.T, text string) {
			d, _ := ask(t)
			if r := d.must(t, MethodCancel, text); !*r.Cancelled {
				t.Error("not cancelled")
			}
		},
		rootSample: func(t *testing.T, text string) {
			d := newDaemon(t)
			d.verdicts["list_bins"] = decisions.Allow
			if r := invoke(t, d, text); r.Outcome != Run || d.got[0].Session.Ancestors != nil || d.got[0].Session.ID != "thread_root" {
				t.Errorf("%+v", r)
			}
		},
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		test, known := tested[name]
		if !known {
			t.Errorf("%s is not tested", name)
		}
		if test != nil {
			t.Run(name, func(t *testing.T) { test(t, sockettest.Sample(t, name)) })
		}
	}
	if len(files) != len(tested) {
		t.Errorf("%d samples for %d tests", len(files), len(tested))
	}
}

// canary is put where permd reads nothing.
const canary = "canary-7f3a"

// poison puts the canary into all addresses of a document, and next to its members
// in places for secrets.
func poison(v any) any {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "://") {
			return "https://u:" + canary + "@agents.example.org/cb?t=" + canary + "#" + canary
		}
		return v
	case []any:
		for i := range v {
			v[i] = poison(v[i])
		}
		return v
	case map[string]any:
		for name, value := range v {
			if name != "arguments" && name != "properties" {
				v[name] = poison(value)
			}
			if name == "callback_url" { // one with a user is refused
				v[name] = "https://agents.example.org/" + canary + "?t=" + canary + "#" + canary
			}
		}
		if v["id"] != nil || v["name"] != nil || v["thread_id"] != nil {
			for _, name := range []string{"token", "authorization", "response_url", "auth_url", "description", "displayScript", "x-note"} {
				v[name] = canary
			}
		}
		return v
	}
	return v
}

// poisoned are the params of every sample with every method, the invocations with
// their toolset.
func poisoned(t testing.TB) map[string]any {
	t.Helper()
	read := func(name string) map[string]any {
		var v map[string]any
		if err := json.Unmarshal([]byte(sockettest.Sample(t, name)), &v); err != nil {
			t.Fatal(err)
		}
		return poison(v).(map[string]any)
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]any{}
	for _, f := range files {
		docs[filepath.Base(f)] = read(filepath.Base(f))
	}
	for _, name := range []string{invokeSample, rootSample} {
		doc := read(name)
		doc["toolset"] = read(toolsetSample)
		docs[name+" with its toolset"] = doc
	}
	return docs
}

// mutants changes a document in every place.
func mutants(doc any) (list []string) {
	write := func() {
		b, err := json.Marshal(doc)
		if err == nil {
			list = append(list, string(b))
		}
	}
	var at func(v any, set func(any))
	at = func(v any, set func(any)) {
		for _, other := range []any{nil, true, 7, 1e300, "", "x", "purge_bin", "thread_root", "\u202ex", []any{}, map[string]any{}, []any{v, v}, map[string]any{"x": v}} {
			set(other)
			write()
		}
		set(v)
		switch v := v.(type) {
		case []any:
			for i := range v {
				at(v[i], func(other any) { v[i] = other })
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				value := v[name]
				delete(v, name)
				write()
				for _, other := range []string{strings.ToUpper(name), name + "\u200b", "_" + name} {
					v[other] = value
					write()
					v[name] = value
					write()
					delete(v, name)
					delete(v, other)
				}
				v[name] = value
				at(value, func(other any) { v[name] = other })
			}
		}
	}
	write()
	at(doc, func(other any) { doc = other })
	return list
}

// TestCanary: what permd does not read reaches neither rules, memory and journal,
// which see the request, nor the answer or an error.
func TestCanary(t *testing.T) {
	if testload.Race {
		t.Skip("one request after the other: there is no race to find, and the detector makes it take a minute")
	}
	docs := poisoned(t)
	decided, refused, every := 0, 0, 1
	if testing.Short() {
		every = 5
	}
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		for i, params := range mutants(docs[name]) {
			if i%every != 0 {
				continue
			}
			d := newDaemon(t)
			d.verdicts["list_bins"], d.verdicts["purge_bin"] = decisions.Allow, decisions.Ask
			for method := range d.Methods {
				if !strings.HasPrefix(method, "rap/") || strictjson.Check([]byte(params)) != nil {
					continue
				}
				out, err := d.Call(t, method, params)
				said := string(out)
				if err != nil {
					refused++
					said = err.Error()
				}
				if strings.Contains(said, canary) {
					t.Errorf("%s of %s is told %s\n%s", method, name, said, params)
				}
			}
			for _, r := range d.got {
				decided++
				if seen := fmt.Sprintf("%+v", *r); strings.Contains(seen, canary) || strings.Contains(r.Call.Input.String(), canary) {
					t.Errorf("rules see it of %s: %s\n%s", name, seen, params)
				}
			}
		}
	}
	t.Logf("%d decided, %d refused", decided, refused)
	if decided < 500/every || refused < 3000/every {
		t.Errorf("%d decided, %d refused: it tests too little", decided, refused)
	}
}

// TestMutants: whatever is changed in an allowed invocation, only the operation
// with the given arguments may run, in the given thread.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it asks about many changed invocations")
	}
	doc := poisoned(t)[rootSample+" with its toolset"]
	ran := 0
	for _, params := range mutants(doc) {
		if strictjson.Check([]byte(params)) != nil {
			continue
		}
		d := newDaemon(t)
		d.verdicts["list_bins"] = decisions.Allow
		out, err := d.Call(t, MethodInvoke, params)
		if err != nil || !strings.Contains(string(out), `"outcome":"run"`) {
			continue
		}
		ran++
		var said struct {
			Operation string          `json:"operation"`
			Arguments json.RawMessage `json:"arguments"`
			GroupID   string          `json:"group_id"`
			Toolset   struct {
				Name  string `json:"name"`
				Tools []struct {
					Name        string          `json:"name"`
					InputSchema json.RawMessage `json:"inputSchema"`
				} `json:"tools"`
			} `json:"toolset"`
		}
		if err := json.Unmarshal([]byte(params), &said); err != nil {
			t.Fatal(err)
		}
		r := d.got[0]
		if said.Operation != "list_bins" || r.Call.Tool.Name != said.Operation || string(r.Call.Input) != string(said.Arguments) ||
			r.Session.ID != said.GroupID || r.Call.Tool.Server != said.Toolset.Name || !strings.HasPrefix(string(said.Arguments), "{") {
			t.Errorf("it runs %+v of %s", r.Call, params)
		}
	}
	t.Logf("%d may run", ran)
	if ran < 200 {
		t.Errorf("%d may run: it tests too little", ran)
	}
}
