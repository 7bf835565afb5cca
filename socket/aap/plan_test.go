package aap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/sockettest"
)

// The parts of turns in tests: c is a call of tool "name" with input {"n":n}, r
// a result, u a message of the user.

func event(name, members string) string {
	if members != "" {
		members = "," + members
	}
	return `{"event":"` + name + `"` + members + `}`
}

func callMembers(id, name string, n int) string {
	return fmt.Sprintf(`"toolCallId":%q,"name":%q,"input":{"n":%d}`, id, name, n)
}

// turnOf is a turn of events: "id name n" is a call, "id" a result.
func turnOf(parts ...string) string { return turnStopped(stopToolUse, parts...) }

func turnStopped(reason string, parts ...string) string {
	list := []string{event("turn_start", "")}
	for _, p := range parts {
		var id, name string
		var n int
		if c, _ := fmt.Sscan(p, &id, &name, &n); c == 3 {
			list = append(list, event("tool_call", callMembers(id, name, n)))
		} else {
			list = append(list, event("tool_result", `"toolCallId":"`+p+`","content":"done"`))
		}
	}
	list = append(list, event("turn_stop", `"stopReason":"`+reason+`"`))
	return `"turn":{"events":[` + strings.Join(list, ",") + `]}`
}

// historyOf is a history: "user" is a message of the user, "permit id" a
// permission, the others as in turnOf, each call in a message of its own.
func historyOf(parts ...string) string {
	var list []string
	for _, p := range parts {
		var id, name string
		var n int
		switch c, _ := fmt.Sscan(p, &id, &name, &n); {
		case p == "user":
			list = append(list, `{"role":"user","content":"go on"}`)
		case id == "permit":
			list = append(list, `{"role":"tool_permission","granted":true,"toolCallId":"`+name+`"}`)
		case c == 3:
			list = append(list, `{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use",`+callMembers(id, name, n)+`}]}`)
		default:
			list = append(list, `{"role":"tool","content":"done","toolCallId":"`+p+`"}`)
		}
	}
	return `"history":[` + strings.Join(list, ",") + `]`
}

// known declares the owners of tools: mine is the client's, theirs the server's,
// both belongs to both, and the server's list is known.
const known = `"agent":{"name":"helper","tools":[{"name":"theirs"},{"name":"trusted","trust":true},{"name":"both"}]},"tools":[{"name":"mine"},{"name":"both"}]`

// open leaves open what the server has.
const open = `"agent":{"name":"helper"},"tools":[{"name":"mine"}]`

// TestUnlisted: a tool that the server was not told to use, or without such a list one that it
// does not show, is a claim. Without any list nothing is known of it.
func TestUnlisted(t *testing.T) {
	list, none := map[string]bool{"deploy": true}, map[string]bool{}
	for name, c := range map[string]struct {
		enabled, shown map[string]bool
		want           bool
	}{
		"enabled":               {list, nil, false},
		"shown":                 {nil, list, false},
		"enabled and not shown": {list, none, false},
		"shown and not enabled": {none, list, true},
		"not shown":             {nil, none, true},
		"not enabled":           {none, nil, true},
		"no list":               {nil, nil, false},
	} {
		if got := (&parties{server: c.enabled, exposed: c.shown}).serverTool("deploy").Unlisted; got != c.want {
			t.Errorf("%s: unlisted %t", name, got)
		}
	}
}

// TestAlike spells the name of the client's tool in other ways: the call is denied, unless the
// server is known to have a tool of exactly that name.
func TestAlike(t *testing.T) {
	for _, name := range []string{"Mine", "MINE", " mine", "mine ", "m ine", "mine\t", "mine\x00", "m\u200bine", "m\u0131ne", "mine\u00a0", "\ufeffmine", "Mi ne"} {
		own := &parties{client: map[string]bool{"mine": true}}
		side, why := own.origin(name)
		if alike := name != "m\u0131ne"; side != server || (why == whyAlike) != alike {
			t.Errorf("%q: %s, %q", name, side, why)
		}
		own.exposed = map[string]bool{name: true}
		if side, why := own.origin(name); side != server || why != "" {
			t.Errorf("%q, which the server has: %s, %q", name, side, why)
		}
	}
	own := &parties{client: map[string]bool{"My Tool": true}}
	if _, why := own.origin("mytool"); why != whyAlike {
		t.Errorf("mytool: %q", why)
	}
	for _, name := range []string{"mines", "mine2", "my-tool", "yours"} {
		if _, why := own.origin(name); why != "" {
			t.Errorf("%q: %q", name, why)
		}
	}
}

// TestPlan: even if rules allow everything, calls that are ambiguous or have
// already run are not allowed.
func TestPlan(t *testing.T) {
	const both = `x client denied: the client and the server both have a tool of this name`
	for name, c := range map[string]struct {
		who, turn string
		want      []string
	}{
		"one of each": {known, turnOf("a mine 1", "b theirs 1", "c trusted 1", "c"), []string{
			"a client execute", "b server granted", "c server skip: it has its result",
		}},
		"nothing":                        {known, turnStopped("end_turn"), nil},
		"a trusted one without a result": {known, turnOf("c trusted 1"), []string{"c server granted"}},
		"a name of both":                 {known, turnOf("x both 1"), []string{both}},
		"a name of both, by meta": {
			`"agent":{"name":"h"},"tools":[{"name":"t"}],"meta":{"version":3,"agents":[{"name":"h","tools":[{"name":"t"}]}]}`,
			turnOf("x t 1"), []string{both},
		},
		"a name of neither":              {known, turnOf("x other 1"), []string{"x server granted"}},
		"none of the server's":           {`"agent":{"name":"h","tools":[]}`, turnOf("x t 1"), []string{"x server granted"}},
		"a name of neither, by meta":     {`"agent":{"name":"h"},"meta":{"version":3,"agents":[{"name":"h","tools":[{"name":"t"}]}]}`, turnOf("x u 1"), []string{"x server granted"}},
		"one that meta has, not enabled": {`"agent":{"name":"h","tools":[]},"meta":{"version":3,"agents":[{"name":"h","tools":[{"name":"t"}]}]}`, turnOf("x t 1"), []string{"x server granted"}},
		"one of the server, by meta":     {`"agent":{"name":"h"},"meta":{"version":3,"agents":[{"name":"h","tools":[{"name":"t"}]}]}`, turnOf("x t 1"), []string{"x server granted"}},
		"a list that is not known":       {open, turnOf("x other 1"), []string{"x server granted"}},

		"an id twice, the same":                  {open, turnOf("x t 1", "x t 1"), []string{"x server granted"}},
		"an id twice, another input":             {open, turnOf("x t 1", "x t 2"), []string{"x server denied: the id of this call was also used for another call"}},
		"an id twice, another tool":              {open, turnOf("x t 1", "x mine 1"), []string{"x server denied: the id of this call was also used for another call"}},
		"an id three times":                      {open, turnOf("x t 1", "x t 2", "x t 1"), []string{"x server denied: the id of this call was also used for another call"}},
		"an id for two calls, and one result":    {open, turnOf("x t 1", "x t 2", "x"), []string{"x server denied: the id of this call was also used for another call"}},
		"an id again after its result":           {open, turnOf("x t 1", "x", "x t 1"), []string{"x server denied: a call with this id already has its result"}},
		"an id again after its result, another":  {open, turnOf("x t 1", "x", "x t 2"), []string{"x server denied: a call with this id already has its result"}},
		"an id again, with a result again":       {open, turnOf("x t 1", "x", "x t 2", "x"), []string{"x server skip: it has its result"}},
		"a result before its call":               {open, turnOf("x", "x t 1"), []string{"x server denied: a call with this id already has its result"}},
		"a result of an earlier turn's call":     {open, turnOf("y", "x t 1"), []string{"x server granted"}},
		"one that must not hide those beside it": {open, turnOf("x t 1", "y t 1", "x t 2"), []string{"x server denied: the id of this call was also used for another call", "y server granted"}},

		"a history before the turn":             {open, turnOf("x t 1") + "," + historyOf("user", "w t 1", "w"), []string{"x server granted"}},
		"a history with the turn":               {open, turnOf("x t 1", "y t 1", "y") + "," + historyOf("user", "x t 1", "y t 1", "y"), []string{"x server granted", "y server skip: it has its result"}},
		"a history with another input":          {open, turnOf("x t 1") + "," + historyOf("user", "x t 2"), []string{"x server denied: the turn and the session's history disagree about this call"}},
		"a history with another tool":           {open, turnOf("x t 1", "x") + "," + historyOf("user", "x u 1"), []string{"x server denied: the turn and the session's history disagree about this call"}},
		"a history with its result":             {open, turnOf("x t 1") + "," + historyOf("user", "x t 1", "x"), []string{"x server denied: a call with this id already has its result"}},
		"an older result":                       {open, turnOf("x t 1") + "," + historyOf("user", "x t 1", "x", "user"), []string{"x server denied: a call with this id already has its result"}},
		"an older result of another call":       {open, turnOf("x t 1") + "," + historyOf("user", "x t 9", "x", "user"), []string{"x server denied: a call with this id already has its result"}},
		"a result without its call":             {open, turnOf("x t 1") + "," + historyOf("user", "x", "user"), []string{"x server denied: a call with this id already has its result"}},
		"an older call that was left":           {open, turnOf("x t 1") + "," + historyOf("user", "x t 1", "user"), []string{"x server granted"}},
		"an older call that was left, another":  {open, turnOf("x t 1") + "," + historyOf("user", "x t 2", "user"), []string{"x server denied: the id of this call was also used for another call"}},
		"an id of an older call, with a result": {open, turnOf("x t 1", "x") + "," + historyOf("user", "x t 9", "x", "user"), []string{"x server skip: it has its result"}},
		"a permission that was given":           {open, turnOf("x t 1") + "," + historyOf("user", "x t 1", "permit x"), []string{"x server ask"}},
		"two calls of an id in the history":     {open, turnOf("x t 1") + "," + historyOf("user", "x t 1", "x t 2"), []string{"x server denied: the turn and the session's history disagree about this call"}},

		"resumed":                              {open, historyOf("user", "a t 1", "a", "user", "x t 1", "y mine 1", "x"), []string{"x server skip: it has its result", "y client execute"}},
		"resumed, several messages":            {open, historyOf("user", "x t 1", "y t 2", "z t 3", "y"), []string{"x server granted", "y server skip: it has its result", "z server granted"}},
		"resumed, nothing waits":               {open, historyOf("user", "x t 1", "x", "user"), nil},
		"resumed, older calls that were left":  {open, historyOf("user", "x t 1", "user", "y t 1"), []string{"y server granted"}},
		"resumed, one that was left, again":    {open, historyOf("user", "x t 1", "user", "x t 1"), []string{"x server granted"}},
		"resumed, one that was left, another":  {open, historyOf("user", "x t 1", "user", "x t 2"), []string{"x server denied: the id of this call was also used for another call"}},
		"resumed, an id of a call that ran":    {open, historyOf("user", "x t 1", "x", "user", "x t 1"), []string{"x server denied: a call with this id already has its result"}},
		"resumed, a name of both":              {known, historyOf("user", "x both 1"), []string{both}},
		"resumed without a message of a user":  {open, historyOf("x t 1"), []string{"x server granted"}},
		"resumed, a permission that was given": {open, historyOf("user", "x t 1", "permit x"), []string{"x server ask"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			for _, tool := range []string{"t", "u", "mine", "theirs", "trusted", "both", "other"} {
				d.verdicts[tool] = decisions.Allow
			}
			r := d.must(t, MethodPermissions, `{"sessionId":"s",`+c.who+`,`+c.turn+`}`)
			sockettest.Diff(t, "outcomes", c.want, outcomes(r))
			// Each side gets a denial in its own terms.
			n := 0
			for _, call := range r.Calls {
				switch call.Outcome {
				case Denied:
					want := fmt.Sprintf(`{"role":"tool_permission","toolCallId":%q,"granted":false,"reason":%q}`, call.ToolCallID, call.Reason)
					if call.Side == client {
						want = fmt.Sprintf(`{"role":"tool","toolCallId":%q,"content":%q}`, call.ToolCallID, "Tool call denied: "+call.Reason)
					}
					if got := posts(t, r)[n]; got != want {
						t.Errorf("message %s, want %s", got, want)
					}
					if call.Decision == nil || call.Decision.Verdict != decisions.Deny {
						t.Errorf("the journal does not say denied: %+v", call.Decision)
					}
					n++
				case Granted:
					n++
				}
			}
		})
	}
}

// TestLogged: what the protocol forbids is in the log as well, with the reason.
func TestLogged(t *testing.T) {
	d := newDaemon(t)
	d.must(t, MethodPermissions, `{"sessionId":"s",`+known+`,`+turnOf("x both 1")+`}`)
	if len(d.got) != 1 || d.got[0].Forbidden != whyBoth {
		t.Errorf("decided were %+v", d.got)
	}
}

// TestInputs: a call whose input is missing or not an object needs a person.
func TestInputs(t *testing.T) {
	for name, c := range map[string]struct{ input, missing, defect string }{
		"object":  {`,"input":{}`, "", ""},
		"missing": {``, whyNoInput, ""},
		"null":    {`,"input":null`, whyNoInput, ""},
		"text":    {`,"input":"{}"`, "", whyBadInput},
		"list":    {`,"input":[{}]`, "", whyBadInput},
		"number":  {`,"input":7`, "", whyBadInput},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			d.verdicts["t"] = decisions.Allow
			r := d.must(t, MethodPermissions, `{"sessionId":"s",`+open+`,"turn":{"stopReason":"tool_use","messages":[
				{"role":"assistant","content":[{"type":"tool_use","toolCallId":"x","name":"t"`+c.input+`}]}]}}`)
			want := Ask
			if c.missing+c.defect == "" {
				want = Granted
			}
			defect := ""
			for _, f := range d.got[0].Call.Defects {
				defect = f.Text
			}
			if r.Calls[0].Outcome != want || d.got[0].Call.Incomplete != c.missing || defect != c.defect {
				t.Errorf("%s, missing %q, defect %q", r.Calls[0].Outcome, d.got[0].Call.Incomplete, defect)
			}
		})
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true , null ] , "a" : 1 } `, true},
		{`"a"`, `"\u0061"`, true},
		{`{"a":1}`, `{"a":1.0}`, false},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":1}`, `{"a":1,"b":1}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`{}`, `[]`, false},
		{`true`, `false`, false},
		{`null`, `null`, true},
		{`{"a":{"b":"x"}}`, `{"a":{"b":"y"}}`, false},
	} {
		a, b := strictjson.Value(strings.TrimSpace(c.a)), strictjson.Value(strings.TrimSpace(c.b))
		if equalValues(a, b) != c.want || equalValues(b, a) != c.want {
			t.Errorf("%s and %s: not %v", c.a, c.b, c.want)
		}
	}
}
