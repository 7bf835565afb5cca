package rap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/sockettest"
)

// TestInvoke checks the outcome of each verdict, with the posted messages.
func TestInvoke(t *testing.T) {
	d := newDaemon(t)
	d.verdicts["list"], d.verdicts["purge"], d.message = decisions.Allow, decisions.Deny, "bin C-17 is under audit hold"
	r := d.must(t, MethodInvoke, invoked("a", "root", "list", ""))
	if r.Outcome != Run || r.Result != nil || r.Choice != nil || r.Decision.ID != "d1" || r.Decision.CallID != "a" {
		t.Errorf("allowed: %+v", r)
	}
	r = d.must(t, MethodInvoke, invoked("b", "root/pick", "purge", `"call_id":"m-1"`))
	sockettest.Diff(t, "denied", &ToolResult{
		Type: "tool_result", GroupID: "pick", ID: "b", CallID: []byte(`"m-1"`), Text: "Error: permission denied: bin C-17 is under audit hold",
	}, r.Result)
	if r.Outcome != Denied || r.Choice != nil {
		t.Errorf("denied: %+v", r)
	}
	r = d.must(t, MethodInvoke, invoked("c", "root/pick/pick_2", "move", `"call_id":null`))
	sockettest.Diff(t, "asked", &UserChoice{
		Type: "user_choice", GroupID: "pick_2", ID: "c", CallID: []byte("null"),
		Prompt:  "May this run? use it, with {\"bin\":\"C-17\"}. A yes for a thread or for always allows: use it (with these arguments)",
		Choices: []string{"Yes (root and all children)", "Yes (pick and all children)", "Yes (pick_2 and all children)", "Yes once", "No", "Yes always (everywhere)"}, Default: 4,
	}, r.Choice)
	if r.Outcome != Ask || r.Result != nil {
		t.Errorf("asked: %+v", r)
	}
	if out := d.Must(t, MethodInvoke, invoked("d", "root", "move", "")); strings.Contains(out, "call_id") {
		t.Errorf("a call_id that nobody said: %s", out)
	}
	r = d.must(t, MethodInvoke, invoked("e", "root", "move", `"width":"w2"`))
	if r.Choice.Prompt != "May this run? use it, with {\"bin\":\"C-17\"}. A yes for a thread or for always allows: use it" {
		t.Errorf("another width: %q", r.Choice.Prompt)
	}
}

// TestDenyReasons: the model gets the rule's message, never permd's reason.
func TestDenyReasons(t *testing.T) {
	for by, want := range map[decisions.DecidedBy]string{
		decisions.ByPolicy: "not allowed by policy", decisions.ByMemory: "denied by the user", decisions.ByFailure: "it could not be decided",
	} {
		d := newDaemon(t)
		d.verdicts["purge"], d.by = decisions.Deny, by
		if r := d.must(t, MethodInvoke, invoked("a", "root", "purge", "")); r.Result.Text != "Error: permission denied: "+want {
			t.Errorf("%s: %q", by, r.Result.Text)
		}
	}
}

// TestRequest checks what rules and memory see of a call.
func TestRequest(t *testing.T) {
	d := newDaemon(t)
	d.Must(t, native.MethodSession, `{"sessionId":"p","cwd":"/home/ana"}`)
	d.Must(t, native.MethodSession, `{"sessionId":"s","cwd":"/home/ana/shop","parent":"p","agent":{"name":"infinity"},"mode":"plan"}`)
	d.Must(t, MethodInvoke, `{"sessionId":"s","operation":"purge_bin","arguments":{"bin":"C-17"},"id":"c1","group_id":"pick_2","thread_ancestors":["root","pick"],
		"user_id":"u-7","toolset":{"name":"warehouse","endpoint":"http://k:canary@127.0.0.1:7410/invoke?canary","tools":[
		{"name":"purge_bin","annotations":{"readOnly":true,"idempotent":true,"destructive":true,"longRunning":false,"requiresAuth":"sso","x-canary":"canary"}}]}}`)
	r := d.got[0]
	sockettest.Diff(t, "call", effects.Call{
		ID: "c1", Protocol: "rap",
		Tool:  effects.Tool{Name: "purge_bin", Server: "warehouse", Source: "http://127.0.0.1:7410/invoke", Destructive: true},
		Input: []byte(`{"bin":"C-17"}`), InputFrom: "arguments", Credentials: effects.Credentials{Authorizations: []effects.Authorization{{ID: "sso"}}},
		Claims: effects.Claims{User: "u-7"}, Agent: effects.Party{Name: "infinity"}, Cwd: "/home/ana/shop",
		User: effects.User{UID: 1000, Home: "/home/ana"},
	}, r.Call, cmpopts.IgnoreUnexported(effects.Disturbance{}))
	sockettest.Diff(t, "session", decisions.SessionRef{Conn: 1, ID: "pick_2", Ancestors: []string{"pick", "root", "s", "p"}, Mode: "plan"}, r.Session)
	sockettest.Diff(t, "peer", decisions.Peer{UID: 1000, PID: 7}, r.Peer)
	d.Must(t, MethodInvoke, `{"operation":"x","arguments":{},"id":"c2","group_id":"alone","thread_ancestors":null,"user_id":null}`)
	if r := d.got[1]; r.Call.Incomplete != "" || r.Call.Tool != (effects.Tool{Name: "x"}) || r.Session.ID != "alone" || r.Session.Ancestors != nil || r.Call.Claims.User != "" {
		t.Errorf("without a toolset: %+v, %+v", r.Call, r.Session)
	}
}

const purgeSchema = `{"name":"purge","inputSchema":{"type":"object","required":["bin"],"properties":{"bin":{"type":"string"},"mode":{"enum":["soft"]}},"additionalProperties":false}}`

// TestValid: permd refuses arguments that the tool could not take, and operations
// that it does not have, and asks nobody.
func TestValid(t *testing.T) {
	for name, tt := range map[string]struct {
		operation, arguments, tools string
		want                        string // the result's text, "" for none
		defect                      string
	}{
		"it fits":            {"purge", `{"bin":"C"}`, purgeSchema, "", ""},
		"no schema":          {"purge", `{"bin":7}`, `{"name":"purge"}`, "", ""},
		"a schema of null":   {"purge", `{"bin":7}`, `{"name":"purge","inputSchema":null}`, "", ""},
		"a wrong type":       {"purge", `{"bin":7}`, purgeSchema, "invalid arguments: /bin: must be string", "arguments"},
		"missing":            {"purge", `{}`, purgeSchema, `invalid arguments: is missing "bin"`, "arguments"},
		"several":            {"purge", `{"mode":"canary"}`, purgeSchema, `invalid arguments: is missing "bin"; /mode: must be "soft"`, "arguments"},
		"another member":     {"purge", `{"bin":"C","canary":"canary"}`, purgeSchema, "invalid arguments: has a member that the schema does not have", "arguments"},
		"no object":          {"purge", `["canary"]`, `{"name":"purge"}`, "invalid arguments: they must be an object", "arguments"},
		"null":               {"purge", `null`, `{"name":"purge"}`, "invalid arguments: they must be an object", "arguments"},
		"not there":          {"purge", ``, `{"name":"purge"}`, "invalid arguments: they are missing", "arguments"},
		"unknown":            {"canary", `{}`, purgeSchema, "unknown operation", "operation"},
		"no tools at all":    {"canary", `{}`, ``, "unknown operation", "operation"},
		"cannot be checked":  {"purge", `{"bin":"C"}`, `{"name":"purge","inputSchema":{"$ref":"https://x.example/canary"}}`, "", "toolset.tools.inputSchema"},
		"a schema of a text": {"purge", `{"bin":"C"}`, `{"name":"purge","inputSchema":"canary"}`, "", "toolset.tools.inputSchema"},
		"an ECMA pattern":    {"purge", `{"bin":"C"}`, `{"name":"purge","inputSchema":{"properties":{"bin":{"pattern":"(?!canary)"}}}}`, "", "toolset.tools.inputSchema"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			d.verdicts["purge"], d.verdicts["canary"] = decisions.Allow, decisions.Allow
			arguments := ""
			if tt.arguments != "" {
				arguments = `"arguments":` + tt.arguments + `,`
			}
			out := d.Must(t, MethodInvoke, fmt.Sprintf(`{"operation":%q,%s"id":"c","group_id":"g","toolset":{"name":"w","tools":[%s]}}`, tt.operation, arguments, tt.tools))
			r := d.must(t, MethodInvoke, fmt.Sprintf(`{"operation":%q,%s"id":"c2","group_id":"g","toolset":{"name":"w","tools":[%s]}}`, tt.operation, arguments, tt.tools))
			at := ""
			for _, f := range r.Decision.Defects {
				at = f.At
			}
			sockettest.Diff(t, "defect", tt.defect, at)
			if strings.Contains(out, "canary") {
				t.Errorf("it repeats what it was told: %s", out)
			}
			switch {
			case tt.want != "":
				if r.Outcome != outcomeInvalid || r.Choice != nil || r.Result == nil || r.Result.Text != "Error: "+tt.want || r.Decision.Verdict == decisions.Allow {
					t.Errorf("%s", out)
				}
				d.Refused(t, MethodChoice, `{"decisionId":"d1","selected":0}`, "no question")
				d.Refused(t, native.MethodChoose, `{"decisionId":"d1","verdict":"allow"}`, "no question")
			case tt.defect != "":
				if r.Outcome != Ask || len(r.Choice.Choices) != 2 {
					t.Errorf("%s", out)
				}
			case r.Outcome != Run:
				t.Errorf("%s", out)
			}
		})
	}
	// What a rule denies is denied, whatever the arguments are.
	d := newDaemon(t)
	d.verdicts["purge"] = decisions.Deny
	r := d.must(t, MethodInvoke, `{"operation":"purge","arguments":{},"id":"c","group_id":"g","toolset":{"name":"w","tools":[`+purgeSchema+`]}}`)
	if r.Outcome != Denied || r.Result.Text != "Error: permission denied: not allowed by policy" {
		t.Errorf("%+v", r.Result)
	}
}

// TestChains checks the chain of threads for each invocation.
func TestChains(t *testing.T) {
	ancestors := func(r *decisions.Request) string { return r.Session.ID + " " + strings.Join(r.Session.Ancestors, " ") }
	type step struct{ path, want, at string }
	for name, steps := range map[string][]step{
		"as it grows":            {{"root", "root ", ""}, {"root/a", "a root", ""}, {"root/a/b", "b a root", ""}, {"root/c", "c root", ""}},
		"elsewhere":              {{"root/a/b", "b a root", ""}, {"other/b", "b other a root", "thread_ancestors"}, {"root/a/b", "b a root", ""}},
		"it drops those above":   {{"root/a/b", "b a root", ""}, {"b", "b a root", "thread_ancestors"}},
		"it gains some":          {{"b", "b ", ""}, {"root/b", "b root", "thread_ancestors"}},
		"those above differ":     {{"root/a", "a root", ""}, {"a/b", "b a root", "thread_ancestors"}},
		"upside down":            {{"a/b", "b a", ""}, {"b/a", "a b", "thread_ancestors"}},
		"one between them":       {{"root/b", "b root", ""}, {"root/a/b", "b a root", "thread_ancestors"}},
		"it stays so":            {{"root/b", "b root", ""}, {"b", "b root", "thread_ancestors"}, {"b", "b root", "thread_ancestors"}},
		"those below are pulled": {{"root/b", "b root", ""}, {"b/c", "c b root", "thread_ancestors"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			d.verdicts["list"] = decisions.Allow
			for i, s := range steps {
				r := d.must(t, MethodInvoke, invoked(fmt.Sprint("c", i), s.path, "list", ""))
				at := ""
				for _, f := range r.Decision.Defects {
					at = f.At
				}
				if got := ancestors(d.got[i]); got != s.want || at != s.at || (r.Outcome == Run) != (s.at == "") {
					t.Errorf("%s: %q, defect %q, %s", s.path, got, at, r.Outcome)
				}
			}
			// Closed, it may be anywhere.
			last := steps[len(steps)-1].path
			own := last[strings.LastIndex(last, "/")+1:]
			d.Must(t, MethodCloseThread, `{"thread_id":"`+own+`"}`)
			if r := d.must(t, MethodInvoke, invoked("new", "fresh/"+own, "list", "")); r.Outcome != Run || ancestors(d.got[len(d.got)-1]) != own+" fresh" {
				t.Errorf("closed: %s, %q", r.Outcome, ancestors(d.got[len(d.got)-1]))
			}
		})
	}
}

// TestSameID: an id identifies one call of its thread.
func TestSameID(t *testing.T) {
	d := newDaemon(t)
	d.verdicts["list"] = decisions.Allow
	same := invoked("c1", "root", "list", "")
	for range 2 {
		if r := d.must(t, MethodInvoke, same); r.Outcome != Run {
			t.Errorf("the same again: %+v", r.Decision)
		}
	}
	if r := d.must(t, MethodInvoke, invoked("c1", "other", "list", "")); r.Outcome != Run {
		t.Errorf("in another thread: %+v", r.Decision)
	}
	for _, differs := range []string{
		strings.Replace(same, "C-17", "C-18", 1), strings.Replace(same, `"name":"warehouse"`, `"name":"other"`, 1),
		strings.Replace(same, `"name":"warehouse"`, `"name":"warehouse","endpoint":"http://x"`, 1), invoked("c1", "root", "purge", ""),
	} {
		r := d.must(t, MethodInvoke, differs)
		if r.Outcome != Ask || len(r.Decision.Defects) != 1 || r.Decision.Defects[0].At != "id" || len(r.Choice.Choices) != 2 {
			t.Errorf("%s: %+v", differs, r.Decision)
		}
	}
	// A question that comes again is one question.
	first := d.must(t, MethodInvoke, invoked("q", "root", "move", ""))
	second := d.must(t, MethodInvoke, invoked("q", "root", "move", ""))
	d.Refused(t, MethodChoice, `{"decisionId":"`+first.Decision.ID+`","selected":1}`, "no question")
	d.Refused(t, native.MethodChoose, `{"decisionId":"`+first.Decision.ID+`","verdict":"allow"}`, "no question")
	if r := d.must(t, MethodChoice, `{"decisionId":"`+second.Decision.ID+`","selected":1}`); r.Outcome != Run {
		t.Errorf("%+v", r)
	}
}

// TestRefused: an ambiguous or invalid invocation has no answer.
func TestRefused(t *testing.T) {
	d := newDaemon(t)
	base := `{"operation":"list","arguments":{},"id":"c","group_id":"g"}`
	long := strings.Repeat("x", socket.MaxName+1)
	many := strings.Repeat(`"t",`, 10_000) + `"t"`
	for params, says := range map[string]string{
		`[]`:                                     "params must be an object",
		strings.Replace(base, `"list"`, `""`, 1): "operation is missing",
		strings.Replace(base, `"operation":"list",`, ``, 1):                            "operation is missing",
		strings.Replace(base, `"list"`, `["list"]`, 1):                                 "operation",
		strings.Replace(base, `"operation"`, `"Operation"`, 1):                         "Operation",
		strings.Replace(base, `"id":"c"`, `"id":7`, 1):                                 "id",
		strings.Replace(base, `"id":"c"`, `"id":null`, 1):                              `"id" must not be null`,
		strings.Replace(base, `"id":"c"`, `"id":"`+long+`"`, 1):                        "id is longer",
		strings.Replace(base, `"g"`, `{}`, 1):                                          "group_id",
		with(`"call_id":7`, base):                                                      "call_id must be text or null",
		with(`"call_id":"`+long+`"`, base):                                             "call_id is longer",
		with(`"user_id":7`, base):                                                      "user_id",
		with(`"user_id":"`+long+`"`, base):                                             "user_id is longer",
		with(`"thread_ancestors":"root"`, base):                                        "thread_ancestors",
		with(`"thread_ancestors":[7]`, base):                                           "thread_ancestors",
		with(`"thread_ancestors":[null]`, base):                                        "an item of a list",
		with(`"thread_ancestors":[""]`, base):                                          "thread_ancestors is missing",
		with(`"thread_ancestors":["g"]`, base):                                         "twice",
		with(`"thread_ancestors":["a","b","a"]`, base):                                 "twice",
		with(`"thread_ancestors":[`+many+`]`, base):                                    "more than 64",
		with(`"sessionId":"none"`, base):                                               "not declared",
		with(`"toolset":[]`, base):                                                     "toolset",
		with(`"toolset":{}`, base):                                                     "toolset.name is missing",
		with(`"toolset":{"name":"w","endpoint":"file:///canary"}`, base):               "toolset.endpoint must be",
		with(`"toolset":{"name":"w","tools":{}}`, base):                                "tools",
		with(`"toolset":{"name":"w","tools":[{"name":"list"},{"name":"list"}]}`, base): "twice",
		with(`"toolset":{"name":"w","tools":[{"name":"list","annotations":{"destructive":"canary"}}]}`, base):       "destructive",
		with(`"toolset":{"name":"w","tools":[{"name":"list","annotations":{"Destructive":false}}]}`, base):          "Destructive",
		with(`"toolset":{"name":"w","tools":[{"name":"list","annotations":{"requiresAuth":"`+long+`"}}]}`, base):    "annotation",
		with(`"toolset":{"name":"w","tools":[`+strings.Repeat(`{"name":"x"},`, maxTools)+`{"name":"list"}]}`, base): "more than 1024",
	} {
		d.Refused(t, MethodInvoke, params, says)
	}
	if len(d.got) != 0 {
		t.Errorf("%d of them were decided", len(d.got))
	}
	d.Refused(t, MethodCloseThread, `{"thread_id":7}`, "thread_id")
	d.Refused(t, MethodCloseThread, `{}`, "thread_id is missing")
	d.Refused(t, MethodCancel, `{"thread_id":"g"}`, "tool_call_id is missing")
	d.Refused(t, MethodCancel, `{"tool_call_id":"c"}`, "thread_id is missing")
	d.Refused(t, MethodChoice, `{"selected":0}`, "decisionId is missing")
	d.Refused(t, MethodChoice, `{"decisionId":"d1"}`, "selected is missing")
	d.Refused(t, MethodChoice, `{"decisionId":"d1","selected":null}`, `"selected" must not be null`)
	// At the bounds it is decided.
	chain := make([]string, maxAncestors)
	for i := range chain {
		chain[i] = fmt.Sprintf(`"t%d"`, i)
	}
	if r := d.must(t, MethodInvoke, with(`"toolset":{"name":"w"},"thread_ancestors":[`+strings.Join(chain, ",")+`]`, base)); len(r.Choice.Choices) != maxAncestors+4 {
		t.Errorf("%d choices", len(r.Choice.Choices))
	}
}

// TestBrokenDecider: without a decision there is no answer.
func TestBrokenDecider(t *testing.T) {
	d := newDaemon(t)
	d.verdicts["list"], d.short = decisions.Allow, true
	if res, err := d.Call(t, MethodInvoke, invoked("c", "g", "list", "")); !errors.Is(err, native.ErrNoDecision) {
		t.Errorf("%s, %v", res, err)
	}
}

// TestManyThreads: the number of threads is bounded, and forgotten ones are closed.
func TestManyThreads(t *testing.T) {
	d := newDaemon(t)
	d.verdicts["list"] = decisions.Allow
	first := d.must(t, MethodInvoke, invoked("c", "first", "move", ""))
	for i := range maxThreads {
		d.must(t, MethodInvoke, invoked("c", fmt.Sprint("t", i), "list", ""))
	}
	s := stateOf(d.Conn)
	if len(s.threads) != maxThreads || len(s.known) != maxCalls || len(s.order) != maxCalls || len(s.pending) > maxCalls {
		t.Errorf("%d threads, %d and %d ids, %d calls", len(s.threads), len(s.known), len(s.order), len(s.pending))
	}
	d.Refused(t, MethodChoice, `{"decisionId":"`+first.Decision.ID+`","selected":0}`, "closed")
	if len(d.kept) != 0 {
		t.Errorf("stored: %+v", d.kept)
	}
	if r := d.must(t, MethodChoice, chosen(first.Decision.ID, 1)); r.Outcome != Run {
		t.Errorf("%+v", r)
	}
}

// TestManyQuestions: above the bound the oldest question is forgotten.
func TestManyQuestions(t *testing.T) {
	d := newDaemon(t)
	for i := range maxCalls + 1 {
		d.must(t, MethodInvoke, invoked(fmt.Sprint("c", i), "g", "move", ""))
	}
	if n := len(stateOf(d.Conn).pending); n != maxCalls {
		t.Errorf("%d calls", n)
	}
	for _, method := range []string{MethodChoice + ` {"decisionId":"d1","selected":1}`, native.MethodChoose + ` {"decisionId":"d1","verdict":"allow"}`} {
		name, params, _ := strings.Cut(method, " ")
		d.Refused(t, name, params, "no question")
	}
	if r := d.must(t, MethodChoice, chosen("d2", 1)); r.Outcome != Run {
		t.Errorf("%+v", r)
	}
}

// TestCancelledAtTheEnd: a call that is cancelled when its decision is there, and
// not yet its answer, has none.
func TestCancelledAtTheEnd(t *testing.T) {
	d := newDaemon(t)
	s := stateOf(d.Conn)
	c := &call{callID: callID{"g", "c"}}
	s.addCall(c, [32]byte{})
	if !s.cancel(func(o *call) bool { return o.id == "c" }) {
		t.Error("nothing was cancelled")
	}
	if s.startDeciding(c, nil) || s.finishDeciding(c, nil, nil) {
		t.Error("it goes on")
	}
	if s.finishDeciding(c, &question{id: "d1"}, &native.PendingQuestion{ID: "d1"}) || s.questions.Remove("d1") {
		t.Error("its question waits")
	}
}

// TestWithdrawn: a call that is cancelled while it is decided has no decision.
func TestWithdrawn(t *testing.T) {
	for name, cancel := range map[string]string{
		"the call":   MethodCancel + ` {"thread_id":"pick","tool_call_id":"c"}`,
		"the thread": MethodCloseThread + ` {"thread_id":"pick"}`,
	} {
		for _, verdict := range []decisions.Verdict{decisions.Allow, decisions.Ask, decisions.Deny} {
			t.Run(name+" "+string(verdict), func(t *testing.T) {
				d := newDaemon(t)
				d.verdicts["list"] = verdict
				method, params, _ := strings.Cut(cancel, " ")
				d.during = func() { d.Must(t, method, params) }
				res, err := d.Call(t, MethodInvoke, invoked("c", "root/pick", "list", ""))
				if e, ok := errors.AsType[*socket.Error](err); !ok || e.Code != socket.CodeCancelled {
					t.Errorf("%s, %v", res, err)
				}
				d.during = nil
				d.Refused(t, MethodChoice, `{"decisionId":"d1","selected":1}`, "no question")
				d.Refused(t, native.MethodChoose, `{"decisionId":"d1","verdict":"allow"}`, "no question")
				if len(stateOf(d.Conn).pending) != 0 {
					t.Error("the call is still open")
				}
			})
		}
	}
	d := newDaemon(t)
	ctx, withdraw := context.WithCancelCause(t.Context())
	withdraw(socket.ErrWithdrawn)
	if res, err := d.CallWith(ctx, t, MethodInvoke, invoked("c", "g", "list", "")); err == nil {
		t.Errorf("the request was withdrawn: %s", res)
	}
}
