package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/client"
	"github.com/permd/permd/socket/otc"
)

// otcRules decide what the test's runtime may.
const otcRules = `package permd.user
import rego.v2
allow contains "the time is no secret" if {
	input.effect.kind == "use"
	input.effect.server == "Clock"
	startswith(input.effect.source, "http://127.0.0.1:")
}
deny contains {"reason": "see /etc/permd", "message": "messages to premium numbers are blocked"} if {
	input.effect.kind == "use"
	"TWILIO_API_KEY" in input.effect.secrets
	startswith(input.effect.arguments.to, "+900")
}
deny contains "only ana sends" if {
	input.effect.kind == "use"
	some a in input.effect.authorizations
	"sms.send" in a.scopes
	input.call.claimed_user != "ana"
}
`

// otcRuntime is the program that calls tools for a model. It asks permd before it
// sends anything, and is the loop of docs/tool-servers.md.
type otcRuntime struct {
	t      *testing.T
	permd  *client.Client // nil where only the server asks
	server *otcServer
	user   string
	secret string
	// person answers a question: the params of permd/choose, nil for no answer.
	person func(a *otc.Answer) map[string]any

	asked []string // the effects that the person was asked about
	ids   []string // of the decisions
}

func otcLaunch(t *testing.T, d *testDaemon, s *otcServer) *otcRuntime {
	t.Helper()
	r := &otcRuntime{t: t, server: s, user: "ana", secret: "TWILIO_API_KEY"}
	r.permd = d.dial(t)
	if err := r.permd.Call(t.Context(), "permd/session", map[string]any{
		"sessionId": "s1", "cwd": d.project(t, nil), "agent": map[string]string{"name": "runtime"},
	}, nil); err != nil {
		t.Fatal(err)
	}
	r.person = func(a *otc.Answer) map[string]any {
		t.Errorf("the person is asked: %+v", a.Decision)
		return nil
	}
	return r
}

// body is the call with the credentials that its tool requires, in either form.
func (r *otcRuntime) body(tool, id string, input map[string]any, enveloped bool) []byte {
	call := otcCall{ToolID: tool, CallID: id, Input: input}
	if strings.HasPrefix(tool, "Sms.") {
		call.Context = map[string]any{
			"authorization": []any{map[string]string{"id": "sms-idp", "token": otcToken}},
			"secrets":       []any{map[string]string{"id": r.secret, "value": otcSecret}},
			"user_id":       r.user,
		}
	}
	var doc any = call
	if enveloped {
		doc = map[string]any{"$schema": "urn:oxp:1.0", "request": call}
	}
	b, err := json.Marshal(doc)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// ask asks permd about a body; an error means that there is no answer.
func (r *otcRuntime) ask(body []byte) (a otc.Answer, err error) {
	r.t.Helper()
	var params, call map[string]any
	if err := json.Unmarshal(body, &params); err != nil {
		r.t.Fatal(err)
	}
	call = params
	if inner, ok := params["request"].(map[string]any); ok {
		call = inner
	}
	params["sessionId"], params["endpoint"] = "s1", r.server.URL+"?key="+otcSecret
	if tool := otcFind(r.server.tools, call["tool_id"].(string)); tool != nil {
		params["tool"] = tool.raw
	}
	if err = r.permd.Call(r.t.Context(), otc.MethodCall, params, &a); err == nil {
		r.ids = append(r.ids, a.Decision.ID)
	}
	return a, err
}

// call calls a tool and returns what the model gets.
func (r *otcRuntime) call(tool, id string, input map[string]any) string {
	r.t.Helper()
	body := r.body(tool, id, input, len(id)%2 == 0)
	if r.permd != nil {
		a, err := r.ask(body)
		if err != nil {
			return "not run: permd cannot be asked"
		}
		if a.Outcome == otc.Ask {
			r.asked = append(r.asked, a.Decision.Effects[0].Text)
			answer := r.person(&a)
			if answer == nil {
				return "not run: nobody answered"
			}
			answer["decisionId"] = a.Decision.ID
			var chosen struct {
				Result otc.Answer `json:"result"`
			}
			if err := r.permd.Call(r.t.Context(), "permd/choose", answer, &chosen); err != nil {
				r.t.Fatalf("permd/choose: %v", err)
			}
			a = chosen.Result
		}
		if a.Outcome != otc.Run {
			return "not run: " + a.Result.Error.Message
		}
	}
	for range 3 {
		switch status, answer := r.server.post(r.t.Context(), body); status {
		case 0:
		case http.StatusOK:
			var result struct{ Value string }
			if err := json.Unmarshal(answer, &result); err != nil {
				r.t.Fatal(err)
			}
			return result.Value
		default:
			var e struct{ Message string }
			if err := json.Unmarshal(answer, &e); err != nil {
				r.t.Fatal(err)
			}
			return fmt.Sprint(status, ": ", e.Message)
		}
	}
	r.t.Fatal("the call could not be sent")
	return ""
}

func otcDaemon(t *testing.T) *testDaemon {
	t.Helper()
	d := newTestDaemon(t)
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "otc.rego"), otcRules)
	d.start(t)
	return d
}

var hello = map[string]any{"to": "+1202", "text": "hello"}

// once and remembered are answers of the person.
func once(*otc.Answer) map[string]any { return map[string]any{"verdict": "allow"} }
func remembered(level int) func(*otc.Answer) map[string]any {
	return func(a *otc.Answer) map[string]any {
		return map[string]any{"verdict": "allow", "width": a.Decision.Widths[level].ID, "scope": "user"}
	}
}

// TestOTCRuntime is a runtime that asks permd before it sends a call.
func TestOTCRuntime(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a daemon; TestOTCServer is the quick one")
	}
	t.Parallel()
	d := otcDaemon(t)
	s := newOTCServer(t)
	r := otcLaunch(t, d, s)
	got := func(wanted, tool, id string, input map[string]any) {
		t.Helper()
		want(t, tool+" "+id, wanted, r.call(tool, id, input))
	}
	got("Clock.Now@1.0.0 is done", "Clock.Now", "", nil)
	got("not run: This tool call is not permitted: messages to premium numbers are blocked", "Sms.Send@1.2.0", "a", map[string]any{"to": "+900", "text": "x"})
	got(`not run: Some input parameters are invalid: is missing "text"`, "Sms.Send@1.2.0", "bb", map[string]any{"to": "+1202"})
	r.user = "bob"
	got("not run: This tool call is not permitted: not allowed by policy", "Sms.Send@1.2.0", "c", hello)
	r.user = ""
	got("not run: This tool call is not permitted: not allowed by policy", "Sms.Send@1.2.0", "c2", hello)
	r.user, r.secret = "ana", "OTHER_KEY"
	got("not run: The call lacks what the tool requires: secret TWILIO_API_KEY", "Sms.Send@1.2.0", "d", hello)
	r.secret = "TWILIO_API_KEY"

	r.person = func(*otc.Answer) map[string]any { return map[string]any{"verdict": "deny"} }
	got("not run: This tool call is not permitted: denied by the user", "Sms.Send@1.2.0", "e", hello)
	r.person = once
	got("Sms.Send@1.2.0 is done", "Sms.Send@1.2.0", "f", hello)
	want(t, "asked", 2, len(r.asked))
	const given = ", given secret TWILIO_API_KEY, authorization sms-idp (sms.send)"
	want(t, "the question", "use Sms:Send@1.2.0"+given, r.asked[1])

	// What is remembered of 1.2.0 is nothing about another version, nor about the
	// latest one, nor about other credentials.
	r.asked, r.person = nil, remembered(1)
	got("Sms.Send@1.2.0 is done", "Sms.Send@1.2.0", "g", hello)
	r.person = once
	got("Sms.Send@1.2.0 is done", "Sms.Send@1.2.0", "h", map[string]any{"to": "+1202", "text": "again"})
	got("Sms.Send@1.3.0 is done", "Sms.Send@1.3.0", "i", hello)
	got("Sms.Send@1.3.0 is done", "Sms.Send", "j", hello)
	want(t, "asked", []string{"use Sms:Send@1.2.0" + given, "use Sms:Send@1.3.0" + given, "use Sms:Send" + given}, r.asked)
	r.asked, r.person = nil, remembered(1)
	got("Sms.Send@1.3.0 is done", "Sms.Send", "k", hello)
	got("Sms.Send@1.3.0 is done", "Sms.Send", "l", hello)
	r.person = once
	got("Sms.Send@1.3.0 is done", "Sms.Send@1.3.0", "m", hello)
	want(t, "asked", []string{"use Sms:Send" + given, "use Sms:Send@1.3.0" + given}, r.asked)
	if slices.ContainsFunc(s.ran, func(c string) bool { return strings.Contains(c, "+900") }) || len(s.ran) != 9 {
		t.Errorf("ran: %q", s.ran)
	}

	// The log contains all of it.
	logged := map[string]decisions.Record{}
	for _, rec := range d.records(t) {
		logged[rec.Decision.ID] = rec
	}
	for _, id := range r.ids {
		if rec := logged[id]; rec.Protocol != "otc" || rec.Agent.Name != "runtime" {
			t.Errorf("logged is %+v", rec)
		}
	}
	shown := map[string][]string{
		"log show " + r.ids[len(r.ids)-1]: {"otc", "use Sms:Send@1.3.0" + given},
		"explain " + r.ids[len(r.ids)-1]:  {"use Sms:Send@1.3.0" + given},
		"explain " + r.ids[1]:             {"messages to premium numbers are blocked"},
		"remember list":                   {"Sms:Send@1.2.0 (with these credentials)", "Sms:Send (with these credentials)"},
	}
	for line, wanted := range shown {
		out, err := d.command(strings.Fields(line)...).CombinedOutput()
		for _, w := range wanted {
			if err != nil || !strings.Contains(string(out), w) {
				t.Errorf("permd %s: %v\n%s\nwithout %q", line, err, out, w)
			}
		}
		for _, secret := range []string{otcToken, otcSecret} {
			if strings.Contains(string(out), secret) {
				t.Errorf("permd %s shows %s", line, secret)
			}
		}
	}
	d.wantNowhere(t, otcToken)
	d.wantNowhere(t, otcSecret)
}

// TestOTCServer is a server that asks permd before a tool runs, for runtimes that
// do not.
func TestOTCServer(t *testing.T) {
	t.Parallel()
	d := otcDaemon(t)
	s := newOTCServer(t)
	permd := d.dial(t)
	var asked *otc.Answer
	s.gate = func(body []byte, tool *otcTool) *otc.Answer {
		var params map[string]any
		if err := json.Unmarshal(body, &params); err != nil {
			return nil
		}
		params["tool"], params["endpoint"] = tool.raw, s.URL
		params["approval"] = map[string]string{"url": "https://approve.example/{decisionId}"}
		asked = new(otc.Answer)
		if err := permd.Call(t.Context(), otc.MethodCall, params, asked); err != nil {
			return nil
		}
		return asked
	}
	r := &otcRuntime{t: t, server: s, user: "ana", secret: "TWILIO_API_KEY"}
	want(t, "allowed", "Clock.Now@1.0.0 is done", r.call("Clock.Now@1", "a", nil))
	want(t, "denied", "400: This tool call is not permitted: messages to premium numbers are blocked", r.call("Sms.Send", "b", map[string]any{"to": "+900", "text": "x"}))
	want(t, "does not fit", "422: Some input parameters are invalid", r.call("Sms.Send", "c", map[string]any{"to": 7, "text": "x"}))
	const mustApprove = "400: A person must approve this tool call before it can run"
	// The person answers once: the call that they were asked about runs when it is repeated.
	once := func(verdict string) {
		t.Helper()
		if err := permd.Call(t.Context(), "permd/choose", map[string]any{"decisionId": asked.Decision.ID, "verdict": verdict}, nil); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "asked for once", mustApprove, r.call("Sms.Send@1.2.0", "o", hello))
	once("allow")
	r.secret = "OTHER_KEY"
	want(t, "with another secret", "400: The call lacks what the tool requires: secret TWILIO_API_KEY", r.call("Sms.Send@1.2.0", "o", hello))
	r.secret = "TWILIO_API_KEY"
	want(t, "asked again after it", mustApprove, r.call("Sms.Send@1.2.0", "o", hello))
	once("allow")
	r.user = "bob"
	if got := r.call("Sms.Send@1.2.0", "o", hello); got == "Sms.Send@1.2.0 is done" {
		t.Error("a yes for a call of ana lets one of bob run")
	}
	r.user = "ana"
	want(t, "asked again after that", mustApprove, r.call("Sms.Send@1.2.0", "o", hello))
	once("allow")
	want(t, "approved once", "Sms.Send@1.2.0 is done", r.call("Sms.Send@1.2.0", "o", hello))
	want(t, "not twice", "400: This tool call is not permitted: a person has allowed this call once, and it was sent or run", r.call("Sms.Send@1.2.0", "o", hello))
	want(t, "asked for a no", mustApprove, r.call("Sms.Send@1.2.0", "p", hello))
	once("deny")
	for range 2 {
		want(t, "rejected", "400: This tool call is not permitted: denied by the user", r.call("Sms.Send@1.2.0", "p", hello))
	}
	want(t, "asked", mustApprove, r.call("Sms.Send", "d", hello))
	want(t, "where", &otc.Missing{Authorization: []otc.Challenge{
		{ID: "permd-approval-" + asked.Decision.ID, URL: "https://approve.example/" + asked.Decision.ID},
	}}, asked.Response.Body.Missing)
	// The person has answered: the answer is remembered, and the call is repeated.
	if err := permd.Call(t.Context(), "permd/choose", map[string]any{
		"decisionId": asked.Decision.ID, "verdict": "allow", "width": asked.Decision.Widths[0].ID, "scope": "user",
	}, nil); err != nil {
		t.Fatal(err)
	}
	want(t, "approved", "Sms.Send@1.3.0 is done", r.call("Sms.Send", "d", hello))
	d.kill()
	want(t, "without permd", "400: permd cannot be reached", r.call("Clock.Now@1", "e", nil))
	want(t, "ran", []string{`Clock.Now@1.0.0 null`, `Sms.Send@1.2.0 {"text":"hello","to":"+1202"}`, `Sms.Send@1.3.0 {"text":"hello","to":"+1202"}`}, s.ran)
}

// TestOTCAgain: a call whose answer was lost is asked about again. The answer is
// the same decision until rules or memory change; another call with its id is
// refused and marked.
func TestOTCAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it reloads rules and loses answers; TestOTCServer is the quick one")
	}
	t.Parallel()
	d := otcDaemon(t)
	s := newOTCServer(t)
	r := otcLaunch(t, d, s)
	say := func(tool, id string, input map[string]any) otc.Answer {
		t.Helper()
		a, err := r.ask(r.body(tool, id, input, false))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	choose := func(a otc.Answer, answer map[string]any) []decisions.StoredChoice {
		t.Helper()
		answer["decisionId"] = a.Decision.ID
		var chosen struct {
			Stored []decisions.StoredChoice `json:"stored"`
		}
		if err := r.permd.Call(t.Context(), "permd/choose", answer, &chosen); err != nil {
			t.Fatal(err)
		}
		return chosen.Stored
	}
	clock := say("Clock.Now", "a", nil)
	question := say("Sms.Send@1.2.0", "b", hello)
	for range 3 {
		want(t, "allowed again", clock, say("Clock.Now", "a", nil))
		want(t, "asked again", question, say("Sms.Send@1.2.0", "b", hello))
	}
	want(t, "logged", 2, len(d.records(t)))

	// Another call.
	bad := say("Sms.Send@1.2.0", "b", map[string]any{"to": "+1999", "text": "hello"})
	want(t, "another call", otc.Denied, bad.Outcome)
	if recs := d.records(t); len(recs) != 3 || !slices.ContainsFunc(recs, func(rec decisions.Record) bool {
		return rec.Decision.ID == bad.Decision.ID && len(rec.Decision.Defects) == 1 && rec.Decision.Defects[0].At == "call_id" && rec.Decision.Verdict != decisions.Allow
	}) {
		t.Errorf("it is not marked in the log")
	}

	// Memory changes: the same call is decided again.
	kept := choose(question, remembered(0)(&question))
	answered := say("Sms.Send@1.2.0", "b", hello)
	want(t, "remembered", otc.Run, answered.Outcome)
	want(t, "remembered again", answered, say("Sms.Send@1.2.0", "b", hello))
	if out, err := d.command("remember", "forget", kept[0].ID).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want(t, "forgotten", otc.Ask, say("Sms.Send@1.2.0", "b", hello).Outcome)

	// Rules change.
	writeFile(t, filepath.Join(d.home, ".config", "permd", "policy.d", "rules.yaml"), "deny:\n  use: ['Clock:*']\n")
	if out, err := d.command("reload").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want(t, "denied by now", otc.Denied, say("Clock.Now", "a", nil).Outcome)
}
