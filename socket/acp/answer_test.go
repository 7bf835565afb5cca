package acp

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/sockettest"
)

const plainCall = `{"toolCallId":"c","name":"Bash","title":"ls","kind":"execute","rawInput":{"command":"ls"}}`

func TestAnswers(t *testing.T) {
	tests := []struct {
		name      string
		verdict   decisions.Verdict
		permanent bool
		options   string
		want      string // the outcome, "" for a question
	}{
		{"allow", decisions.Allow, false, `{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}`, `{"outcome":"selected","optionId":"y"}`},
		{"deny", decisions.Deny, false, `{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}`, `{"outcome":"selected","optionId":"n"}`},
		{"deny without an option", decisions.Deny, false, `{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"x","name":"Never","kind":"reject_always"}`, `{"outcome":"cancelled"}`},
		{"deny for ever", decisions.Deny, true, `{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"x","name":"Never","kind":"reject_always"}`, `{"outcome":"selected","optionId":"x"}`},
		{"ask", decisions.Ask, false, `{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}`, ""},
		{"allow without an option", decisions.Allow, false, `{"optionId":"a","name":"Always","kind":"allow_always"},{"optionId":"n","name":"No","kind":"reject_once"}`, ""},
		{"allow without options", decisions.Allow, false, ``, ""},
		{"a verdict that is none", "perhaps", false, `{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDaemon(tt.verdict)
			d.permanent = tt.permanent
			res, err := d.call(t, conn(1), MethodRequestPermission,
				`{"sessionId":"s","toolCall":`+plainCall+`,"options":[`+tt.options+`]}`)
			if tt.want == "" {
				checkQuestion(t, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			body := strictjson.Value(encode(t, res))
			if got := string(member(body, "outcome")); got != tt.want {
				t.Errorf("outcome %s, want %s", got, tt.want)
			}
			if got := text(body, "_meta", "permd", "decisionId"); got != "d1" {
				t.Errorf("_meta.permd.decisionId = %q", got)
			}
		})
	}
}

func checkQuestion(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*socket.Error](err)
	if !ok || e.Code != socket.CodeAsk || !strings.HasPrefix(e.Message, "ask the person: ") {
		t.Fatalf("error %v, want a question", err)
	}
	if text(e.Data, "decisionId") != "d1" || text(e.Data, "callId") != "c" {
		t.Errorf("data %s is not the decision", e.Data)
	}
	if v := text(e.Data, "verdict"); v == "allow" || v == "deny" {
		t.Errorf("the question's decision says %s", v)
	}
}

// TestOptionDefect tells the decider that no allow can be said, so that none
// is recorded.
func TestOptionDefect(t *testing.T) {
	d := newDaemon(decisions.Deny)
	d.must(t, conn(1), MethodRequestPermission,
		`{"sessionId":"s","toolCall":`+plainCall+`,"options":[{"optionId":"a","name":"Always","kind":"allow_always"},{"optionId":"n","name":"No","kind":"reject_once"}]}`)
	if ds := d.last(t).Call.Defects; len(ds) != 1 || ds[0].Code != "option" {
		t.Errorf("defects %+v", ds)
	}
}

// TestBrokenDecider gets no decision, or too many.
func TestBrokenDecider(t *testing.T) {
	for name, list := range map[string][]*decisions.Decision{"none": nil, "nil": {nil}, "two": {{}, {}}} {
		p := &pendingRequest{offer: offer{options: []Option{opt(AllowOnce, "y", "Yes")}}, turns: turns{t.Context()}, state: new(native.State)}
		if res, err := p.decide(t.Context(), &native.Deps{Decider: fixed{list: list}}); err == nil {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

type fixed struct {
	sockettest.Unchanged

	list []*decisions.Decision
}

func (f fixed) Decide(context.Context, ...*decisions.Request) []*decisions.Decision { return f.list }

// TestChoosing brings the person's answer to a question.
func TestChoosing(t *testing.T) {
	const (
		once   = `{"optionId":"y","name":"Yes","kind":"allow_once"}`
		always = `{"optionId":"a","name":"Always","kind":"allow_always"}`
		no     = `{"optionId":"n","name":"No","kind":"reject_once"}`
		never  = `{"optionId":"x","name":"Never","kind":"reject_always"}`
	)
	options := func(list ...string) string { return strings.Join(list, ",") }
	tests := []struct {
		name, call, options, choice string
		want                        string // the picked option, "cancelled", or what the error says
		fails                       bool
	}{
		{"once", plainCall, options(once, no), `"optionId":"y"`, "y", false},
		{"reject", plainCall, options(once, no), `"optionId":"n"`, "n", false},
		{"always becomes once", plainCall, options(always, once, no), `"optionId":"a"`, "y", false},
		{"never becomes once", plainCall, options(once, no, never), `"optionId":"x"`, "n", false},
		{"never without once", plainCall, options(once, never), `"optionId":"x"`, "x", false},
		{"always without once", plainCall, options(always, no), `"optionId":"a"`, "would remember", true},
		{"not offered", plainCall, options(once, no), `"optionId":"zz"`, "no option of that id", true},
		{"verdict allow", plainCall, options(once, no), `"verdict":"allow"`, "y", false},
		{"verdict deny", plainCall, options(once, no), `"verdict":"deny"`, "n", false},
		{"verdict deny without an option", plainCall, options(once, never), `"verdict":"deny"`, "cancelled", false},
		{"verdict allow, two ways", plainCall, options(once, `{"optionId":"z","name":"Z","kind":"allow_once"}`, no), `"verdict":"allow"`, "name the option", true},
		{"a defect does not bind the person", `{"toolCallId":"c","name":"Bash","title":7}`, options(once, no), `"verdict":"allow"`, "y", false},
		{"nor does what is missing", `{"toolCallId":"c"}`, options(once, no), `"verdict":"allow"`, "y", false},
		{"an answer to a question", `{"toolCallId":"c","title":"AskUserQuestion"}`, options(once, always, no), `"optionId":"a"`, "a", false},
		{"a verdict is none", `{"toolCallId":"c","title":"AskUserQuestion"}`, options(once, no), `"verdict":"allow"`, "name the option", true},
		{"a mode is picked as it is", `{"toolCallId":"c","kind":"switch_mode"}`, options(once, always, no), `"optionId":"a"`, "a", false},
		{"ids repeat", plainCall, options(once, once), `"optionId":"y"`, "repeat", true},
		{"a width", plainCall, options(once, no), `"optionId":"y","width":"w1"`, "no width of that id was offered", true},
		{"a scope", plainCall, options(once, no), `"optionId":"y","scope":"user"`, "belong to a width", true},
		{"an expiry", plainCall, options(once, no), `"optionId":"y","expiresIn":"1h"`, "whole number of seconds", true},
		{"an expiry of a right form", plainCall, options(once, no), `"optionId":"y","expiresIn":5`, "belong to a width", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, c := newDaemon(decisions.Ask), conn(1)
			_, err := d.call(t, c, MethodRequestPermission, `{"sessionId":"s","toolCall":`+tt.call+`,"options":[`+tt.options+`]}`)
			checkQuestion(t, err)
			if _, err := d.call(t, conn(2), native.MethodChoose, `{"decisionId":"d1",`+tt.choice+`}`); err == nil {
				t.Error("another connection answered")
			}
			res, err := d.call(t, c, native.MethodChoose, `{"decisionId":"d1",`+tt.choice+`}`)
			if tt.fails {
				if code(err) != socket.CodeParams || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("%+v, error %v; want %q", res, err, tt.want)
				}
				// The question stays open, unless no answer can be named at all.
				if tt.name != "ids repeat" {
					d.must(t, c, native.MethodChoose, `{"decisionId":"d1","optionId":"n"}`)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			outcome := `{"outcome":"selected","optionId":"` + tt.want + `"}`
			if tt.want == "cancelled" {
				outcome = `{"outcome":"cancelled"}`
			}
			notStored := ""
			if strings.Contains(tt.name, "becomes once") || tt.name == "never without once" {
				notStored = `"notStored":"nothing of this question can be remembered",`
			}
			if got, want := encode(t, res), `{"stored":[],`+notStored+`"result":{"outcome":`+outcome+`}}`; got != want {
				t.Errorf("%s, want %s", got, want)
			}
			if _, err := d.call(t, c, native.MethodChoose, `{"decisionId":"d1","optionId":"n"}`); err == nil {
				t.Error("a question was answered two times")
			}
		})
	}
}

// TestLiveShell tells the decider that an earlier call may have moved the
// shell, for agents whose shell stays alive.
func TestLiveShell(t *testing.T) {
	d, c := newDaemon(decisions.Ask), conn(1)
	Register(d.methods, native.Deps{
		Sessions: d.sessions, Decider: d, Users: func(uint32) effects.User { return effects.User{} },
		LiveShell: func(a effects.Party) bool { return a.Name == "alive" },
	})
	d.declare(t, c, "s", "alive")
	d.declare(t, c, "other", "alive")
	d.declare(t, c, "dead", "dead")
	for _, step := range []struct {
		session string
		kind    effects.Kind
		verdict decisions.Verdict
		want    bool
	}{
		{"s", effects.KindRun, decisions.Allow, false},
		{"s", effects.KindState, decisions.Deny, false},
		{"s", effects.KindState, decisions.Ask, false},
		{"s", effects.KindRun, decisions.Allow, true},
		{"other", effects.KindState, decisions.Allow, false},
		{"other", effects.KindRun, decisions.Allow, true},
		{"dead", effects.KindState, decisions.Allow, false},
		{"dead", effects.KindRun, decisions.Allow, false},
	} {
		d.verdict, d.kind = step.verdict, step.kind
		_, _ = d.call(t, c, MethodRequestPermission, strings.Replace(permission(plainCall), `"s"`, `"`+step.session+`"`, 1))
		if got := d.last(t).Call.LiveShell; got != step.want {
			t.Errorf("%+v: live %v", step, got)
		}
	}
	d.must(t, c, native.MethodClose, `{"sessionId":"s"}`)
	d.declare(t, c, "s", "alive")
	_, _ = d.call(t, c, MethodRequestPermission, permission(plainCall))
	if d.last(t).Call.LiveShell {
		t.Error("a closed session left its shell behind")
	}
}

// BenchmarkRequest measures reading and answering one request that is whole,
// without the deciding.
func BenchmarkRequest(b *testing.B) {
	var msg message
	readJSON(b, "testdata/claude-0.100-bash.json", &msg)
	h := &handler{native.Deps{
		Sessions: new(decisions.Sessions), Users: func(uint32) effects.User { return effects.User{} },
		Decider: fixed{list: []*decisions.Decision{{ID: "d", Verdict: decisions.Allow}}},
	}}
	c := conn(1)
	for b.Loop() {
		r, err := h.requestPermission(c, msg.Params)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
