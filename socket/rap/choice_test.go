package rap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/sockettest"
)

// asked has a question open: of call c in thread root/pick/pick_2.
func asked(t *testing.T) (*daemon, string) {
	t.Helper()
	d := newDaemon(t)
	r := d.must(t, MethodInvoke, invoked("c", "root/pick/pick_2", "move", `"call_id":"m"`))
	return d, r.Decision.ID
}

func chosen(id string, selected int) string {
	return fmt.Sprintf(`{"decisionId":%q,"selected":%d}`, id, selected)
}

// TestChoice checks what each index means, and which choice is stored.
func TestChoice(t *testing.T) {
	refused := &ToolResult{Type: "tool_result", GroupID: "pick_2", ID: "c", CallID: []byte(`"m"`), Text: "Error: permission denied: denied by the user"}
	for selected, want := range map[int]struct {
		outcome  Outcome
		session  string // of what is stored, "" for nothing
		above    []string
		result   *ToolResult
		answered string
	}{
		0: {Run, "root", nil, nil, "d1 allow 1"},
		1: {Run, "pick", []string{"root"}, nil, "d1 allow 1"},
		2: {Run, "pick_2", []string{"pick", "root"}, nil, "d1 allow 1"},
		3: {Run, "", nil, nil, "d1 allow 0"},
		4: {Denied, "", nil, refused, "d1 deny 0"},
	} {
		d, id := asked(t)
		r := d.must(t, MethodChoice, chosen(id, selected))
		if r.Outcome != want.outcome {
			t.Errorf("%d: %+v", selected, r)
		}
		sockettest.Diff(t, fmt.Sprint(selected, " result"), want.result, r.Result)
		sockettest.Diff(t, fmt.Sprint(selected, " answered"), []string{want.answered}, d.answered)
		if (want.session != "") != (len(d.kept) == 1) || (want.session != "") != (len(r.Stored) == 1) {
			t.Fatalf("%d: kept %+v, stored %+v", selected, d.kept, r.Stored)
		}
		if want.session != "" {
			a := d.kept[0]
			if a.Verdict != decisions.Allow || a.Width != "w1" || a.Scope != "session+children" || a.DecisionID != "d1" || len(a.Offer.Sets) != 1 || a.Offer.Reject != nil {
				t.Errorf("%d: kept %+v", selected, a)
			}
			sockettest.Diff(t, "session", decisions.SessionRef{Conn: 1, ID: want.session, Ancestors: want.above}, a.Offer.Sets[0].Items[0].Query.Session)
		}
		// One use.
		for _, again := range []string{MethodChoice + " " + chosen(id, 0), MethodChoice + " " + chosen(id, 3), native.MethodChoose + ` {"decisionId":"d1","verdict":"allow"}`} {
			method, params, _ := strings.Cut(again, " ")
			d.Refused(t, method, params, "no question")
		}
	}
}

// TestChoiceWidth: an approval has the width for which the labels were made.
func TestChoiceWidth(t *testing.T) {
	for width, want := range map[string]string{"w1": "w1", "w2": "w2", "w9": "w1", "": "w1"} {
		d := newDaemon(t)
		d.must(t, MethodInvoke, invoked("c", "root", "move", fmt.Sprintf(`"width":%q`, width)))
		d.must(t, MethodChoice, chosen("d1", 0))
		if a := d.kept[0]; a.Width != want || a.Offer.Sets[0].ID != want {
			t.Errorf("%q: kept %+v", width, a)
		}
	}
}

// TestChoiceRefused: an invalid answer leaves the question open.
func TestChoiceRefused(t *testing.T) {
	d, id := asked(t)
	for _, selected := range []string{`-1`, `6`, `1e3`, `0.5`, `"0"`, `true`, `[]`, `9223372036854775808`} {
		d.Refused(t, MethodChoice, `{"decisionId":"`+id+`","selected":`+selected+`}`, "selected")
	}
	d.Refused(t, MethodChoice, chosen("d9", 0), "no question")
	d.Refused(t, native.MethodChoose, `{"decisionId":"d1","optionId":"yes"}`, "no options")
	d.Connect(2)
	d.Refused(t, MethodChoice, chosen(id, 0), "no question")
	d.Refused(t, MethodCancel, `{"thread_id":"pick_2","tool_call_id":""}`, "missing")
	if r := d.must(t, MethodCancel, `{"thread_id":"pick_2","tool_call_id":"c"}`); *r.Cancelled {
		t.Error("another connection cancelled the call")
	}
	if r := d.must(t, MethodCloseThread, `{"thread_id":"pick_2"}`); *r.Closed {
		t.Error("another connection closed the thread")
	}
	d.Connect(1)
	d2 := newDaemon(t)
	d2.Refused(t, MethodChoice, chosen(id, 0), "no question")
}

// TestChoiceOfWhatCannotBeRemembered: there are two labels, and no third.
func TestChoiceOfWhatCannotBeRemembered(t *testing.T) {
	for selected, want := range map[int]Outcome{0: Run, 1: Denied} {
		d := newDaemon(t)
		r := d.must(t, MethodInvoke, `{"operation":"move","arguments":{},"id":"c","group_id":"g","thread_ancestors":["root"],"toolset":{"name":"w","tools":[{"name":"move","inputSchema":"x"}]}}`)
		sockettest.Diff(t, "choices", []string{"Yes once", "No"}, r.Choice.Choices)
		if r.Choice.Default != 1 {
			t.Errorf("the default is %d", r.Choice.Default)
		}
		d.Refused(t, MethodChoice, chosen("d1", 2), "no index")
		if r := d.must(t, MethodChoice, chosen("d1", selected)); r.Outcome != want || len(d.kept) != 0 {
			t.Errorf("%d: %+v, kept %+v", selected, r, d.kept)
		}
	}
}

// TestLateYes: an approval counts only under the rules that asked, a reject under
// any.
func TestLateYes(t *testing.T) {
	for selected, outcome := range map[int]Outcome{0: "", 3: "", 4: Denied} {
		d, id := asked(t)
		d.rules = "other"
		if outcome != "" {
			if r := d.must(t, MethodChoice, chosen(id, selected)); r.Outcome != outcome {
				t.Errorf("%d: %+v", selected, r)
			}
			continue
		}
		d.Refused(t, MethodChoice, chosen(id, selected), "the rules have changed")
		d.rules = ""
		d.Refused(t, MethodChoice, chosen(id, selected), "no question")
		if len(d.kept)+len(d.answered) != 0 {
			t.Errorf("kept %+v, answered %q", d.kept, d.answered)
		}
	}
}

// TestChoose: permd/choose answers the question as well.
func TestChoose(t *testing.T) {
	d, id := asked(t)
	if out := d.Must(t, native.MethodChoose, `{"decisionId":"`+id+`","verdict":"allow","width":"w2","scope":"project"}`); !strings.Contains(out, `"result":{"outcome":"run"}`) {
		t.Error(out)
	}
	if a := d.kept[0]; a.Width != "w2" || a.Scope != "project" {
		t.Errorf("kept %+v", a)
	}
	d, id = asked(t)
	if out := d.Must(t, native.MethodChoose, `{"decisionId":"`+id+`","verdict":"deny"}`); !strings.Contains(out, `"outcome":"denied"`) ||
		!strings.Contains(out, `"text":"Error: permission denied: denied by the user"`) {
		t.Error(out)
	}
	d.Refused(t, MethodChoice, chosen(id, 0), "no question")
}

// TestCloseThread: closing a thread ends the choices for it, and no others.
func TestCloseThread(t *testing.T) {
	d, id := asked(t)
	other := d.must(t, MethodInvoke, invoked("o", "root/pick", "move", ""))
	if r := d.must(t, MethodCloseThread, `{"thread_id":"pick_2"}`); !*r.Closed {
		t.Error("not closed")
	}
	if r := d.must(t, MethodCloseThread, `{"thread_id":"pick_2"}`); *r.Closed {
		t.Error("closed twice")
	}
	d.Refused(t, MethodChoice, chosen(id, 3), "no question")
	d.Refused(t, native.MethodChoose, `{"decisionId":"`+id+`","verdict":"allow"}`, "no question")
	sockettest.Diff(t, "ended", []string{"1 pick_2", "1 pick_2"}, d.ended)
	// A thread above is closed: no yes is for it any more, but for the others.
	d.must(t, MethodCloseThread, `{"thread_id":"root"}`)
	d.Refused(t, MethodChoice, chosen(other.Decision.ID, 0), "closed")
	if r := d.must(t, MethodChoice, chosen(other.Decision.ID, 1)); r.Outcome != Run || len(d.kept) != 1 {
		t.Errorf("%+v", r)
	}
	// Also not when a thread of that name has begun again.
	d, id = asked(t)
	d.must(t, MethodCloseThread, `{"thread_id":"root"}`)
	d.must(t, MethodInvoke, invoked("x", "root", "list", ""))
	d.Refused(t, MethodChoice, chosen(id, 0), "closed")
}

// TestClosedWhileStored: a thread that is closed while an approval for it is being
// stored does not keep it.
func TestClosedWhileStored(t *testing.T) {
	d, id := asked(t)
	d.whenKept = func() { d.must(t, MethodCloseThread, `{"thread_id":"root"}`) }
	r := d.must(t, MethodChoice, chosen(id, 0))
	if r.Outcome != Run || len(r.Stored) != 0 {
		t.Errorf("%+v", r)
	}
	sockettest.Diff(t, "dropped", []string{"c1"}, d.dropped)
	// Its own thread: the question has ended with it.
	d, id = asked(t)
	d.whenKept = func() { d.must(t, MethodCloseThread, `{"thread_id":"pick_2"}`) }
	d.Refused(t, MethodChoice, chosen(id, 0), "no question")
	sockettest.Diff(t, "dropped", []string{"c1"}, d.dropped)
}

// TestCancel: a withdrawn question accepts no answer; others do.
func TestCancel(t *testing.T) {
	d, id := asked(t)
	other := d.must(t, MethodInvoke, invoked("o", "root/pick/pick_2", "move", ""))
	for _, tt := range []struct {
		params string
		want   bool
	}{
		{`{"thread_id":"pick","tool_call_id":"c"}`, false},
		{`{"thread_id":"pick_2","tool_call_id":"d"}`, false},
		{`{"thread_id":"pick_2","tool_call_id":"c"}`, true},
		{`{"thread_id":"pick_2","tool_call_id":"c"}`, false},
	} {
		if r := d.must(t, MethodCancel, tt.params); *r.Cancelled != tt.want {
			t.Errorf("%s: %v", tt.params, *r.Cancelled)
		}
	}
	d.Refused(t, MethodChoice, chosen(id, 0), "no question")
	if r := d.must(t, MethodChoice, chosen(other.Decision.ID, 3)); r.Outcome != Run {
		t.Errorf("%+v", r)
	}
	if r := d.must(t, MethodCancel, `{"thread_id":"pick_2","tool_call_id":"o"}`); *r.Cancelled {
		t.Error("what was answered was cancelled")
	}
	// The same call may come again.
	if r := d.must(t, MethodInvoke, invoked("c", "root/pick/pick_2", "move", "")); r.Outcome != Ask || len(r.Choice.Choices) != 6 {
		t.Errorf("%+v", r)
	}
}

// TestSessionEnds: the questions of a session end with it.
func TestSessionEnds(t *testing.T) {
	d := newDaemon(t)
	d.Must(t, native.MethodSession, `{"sessionId":"s","cwd":"/home/ana/shop"}`)
	r := d.must(t, MethodInvoke, invoked("c", "root", "move", `"sessionId":"s"`))
	free := d.must(t, MethodInvoke, invoked("f", "root", "move", ""))
	d.Must(t, native.MethodClose, `{"sessionId":"s"}`)
	d.Refused(t, MethodChoice, chosen(r.Decision.ID, 0), "no question")
	if r := d.must(t, MethodChoice, chosen(free.Decision.ID, 0)); r.Outcome != Run {
		t.Errorf("%+v", r)
	}
	d.Refused(t, MethodInvoke, invoked("c2", "root", "move", `"sessionId":"s"`), "not declared")
}

// TestLabels: the name of a thread cannot hide the question.
func TestLabels(t *testing.T) {
	d := newDaemon(t)
	r := d.must(t, MethodInvoke, `{"operation":"move","arguments":{},"id":"c","group_id":"a\u202eb\nNo","thread_ancestors":["ghp_0123456789abcdefghijABCDEFGHIJ012345"],"toolset":{"name":"w"}}`)
	for _, label := range r.Choice.Choices {
		if strings.ContainsAny(label, "\u202e\n") || strings.Contains(label, "ghp_0123") {
			t.Errorf("%q", label)
		}
	}
}

// TestLasting: the last labels are for answers that outlive the connection, the default
// stays the no for once.
func TestLasting(t *testing.T) {
	for name, tt := range map[string]struct {
		project, where, scope string
	}{
		"in a project": {"/home/ana/shop", "(in this project)", "project"},
		"anywhere":     {"", "(everywhere)", "user"},
	} {
		t.Run(name, func(t *testing.T) {
			for i, want := range []struct {
				label   string
				outcome Outcome
				verdict decisions.Verdict
				width   string
			}{{"Yes always " + tt.where, Run, decisions.Allow, "w1"}, {"Never " + tt.where, Denied, decisions.Deny, ""}} {
				d := newDaemon(t)
				d.rejectable, d.project = true, tt.project
				r := d.must(t, MethodInvoke, invoked("c", "root", "move", ""))
				at := 3 + i
				if r.Choice.Choices[r.Choice.Default] != "No" || len(r.Choice.Choices) != 5 || r.Choice.Choices[at] != want.label {
					t.Fatalf("choices %q, default %d", r.Choice.Choices, r.Choice.Default)
				}
				if r := d.must(t, MethodChoice, chosen("d1", at)); r.Outcome != want.outcome || len(r.Stored) != 1 {
					t.Errorf("%s: %+v", want.label, r)
				}
				if a := d.kept[0]; a.Verdict != want.verdict || a.Scope != tt.scope || a.Width != want.width {
					t.Errorf("%s: kept %+v", want.label, a)
				}
			}
		})
	}
	// A yes that cannot be remembered is offered for once only; the no can be.
	d := newDaemon(t)
	d.rejectable = true
	r := d.must(t, MethodInvoke, `{"operation":"move","arguments":{},"id":"c","group_id":"g","toolset":{"name":"w","tools":[{"name":"move","inputSchema":"x"}]}}`)
	sockettest.Diff(t, "choices", []string{"Yes once", "No", "Never (everywhere)"}, r.Choice.Choices)
	if r := d.must(t, MethodChoice, chosen("d1", 2)); r.Outcome != Denied || len(d.kept) != 1 || d.kept[0].Verdict != decisions.Deny {
		t.Errorf("%+v, kept %+v", r, d.kept)
	}
}
