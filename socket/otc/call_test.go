package otc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/sockettest"
)

// TestRefused: an ambiguous or invalid request is an error that repeats no value,
// and is not decided.
func TestRefused(t *testing.T) {
	long := strings.Repeat("x", socket.MaxName+1)
	many := strings.TrimSuffix(strings.Repeat(`{"id":"a"},`, maxCredentials+1), ",")
	tool := func(members string) string { return `{"tool_id":"A.B@1.2.0","tool":{"id":"A.B",` + members + `}}` }
	tests := []struct{ name, params, want string }{
		{"a list", `[]`, "params must be an object"},
		{"no tool", `{"input":{}}`, "tool_id is missing"},
		{"tool of another form", `{"tool_id":"canary"}`, "tool_id must be"},
		{"tool of another type", `{"tool_id":7}`, "reading params: "},
		{"id of another type", `{"tool_id":"A.B","call_id":7}`, "reading params: "},
		{"long id", `{"tool_id":"A.B","call_id":"` + long + `"}`, "at most 1024 bytes"},
		{"long $schema", `{"tool_id":"A.B","$schema":"` + long + `"}`, "at most 1024 bytes"},
		{"bare and in an envelope", `{"tool_id":"A.B","request":{"tool_id":"A.B"}}`, "not in both: tool_id"},
		{"input beside an envelope", `{"input":{"canary":1},"request":{"tool_id":"A.B"}}`, "not in both: input"},
		{"context beside an envelope", `{"context":{},"request":{"tool_id":"A.B"}}`, "not in both: context"},
		{"trace that is no text", `{"tool_id":"A.B","trace_id":7}`, "reading params: "},
		{"long trace", `{"tool_id":"A.B","trace_id":"` + long + `"}`, "at most 1024 bytes"},
		{"trace beside an envelope", `{"trace_id":"x","request":{"tool_id":"A.B"}}`, "not in both: trace_id"},
		{"empty envelope", `{"request":null}`, `"request" must not be null`},
		{"no requirements known", `{"tool_id":"A.B","tool":null}`, `"tool" must not be null`},
		{"envelope of text", `{"request":"{\"tool_id\":\"A.B\"}"}`, "request must be an object"},
		{"envelope in an envelope", `{"request":{"request":{"tool_id":"A.B"}}}`, "tool_id is missing"},
		{"other inputs", `{"tool_id":"A.B","input":{"a":1},"inputs":{"a":2}}`, "say different things"},
		{"null and inputs", `{"tool_id":"A.B","input":null,"inputs":{"a":2}}`, "say different things"},
		{"input and empty inputs", `{"tool_id":"A.B","input":{"a":1},"inputs":{}}`, "say different things"},
		{"numbers in other digits", `{"tool_id":"A.B","input":{"a":1},"inputs":{"a":1.0}}`, "say different things"},
		{"numbers beyond what a double holds", `{"tool_id":"A.B","input":{"a":9007199254740993},"inputs":{"a":9007199254740992}}`, "say different things"},
		{"text and number", `{"tool_id":"A.B","input":{"a":1},"inputs":{"a":"1"}}`, "say different things"},
		{"tool in another case", `{"tool_id":"A.B","Tool_ID":"A.C"}`, "only by case"},
		{"input in another case", `{"tool_id":"A.B","Input":{"a":1}}`, "only by case"},
		{"context in another case", `{"request":{"tool_id":"A.B","Context":{}}}`, "only by case"},
		{"a call's member in another case beside an envelope", `{"Input":{},"request":{"tool_id":"A.B"}}`, "only by case"},
		{"secrets as an object", `{"tool_id":"A.B","context":{"secrets":{"KEY":"canary"}}}`, "reading params: "},
		{"secret without an id", `{"tool_id":"A.B","context":{"secrets":[{"value":"canary"}]}}`, "context.secrets[0].id"},
		{"secret as text", `{"tool_id":"A.B","context":{"secrets":["canary"]}}`, "reading params: "},
		{"secret with an id in another case", `{"tool_id":"A.B","context":{"secrets":[{"ID":"KEY","value":"canary"}]}}`, "only by case"},
		{"authorization with a number", `{"tool_id":"A.B","context":{"authorization":[{"id":7,"token":"canary"}]}}`, "reading params: "},
		{"too many secrets", `{"tool_id":"A.B","context":{"secrets":[` + many + `]}}`, "more than 64"},
		{"too many authorizations", `{"tool_id":"A.B","context":{"authorization":[` + many + `]}}`, "more than 64"},
		{"long secret", `{"tool_id":"A.B","context":{"secrets":[{"id":"` + long + `"}]}}`, "1 to 1024 bytes"},
		{"long user", `{"tool_id":"A.B","context":{"user_id":"` + long + `"}}`, "user_id is longer"},
		{"user of another type", `{"tool_id":"A.B","context":{"user_id":{}}}`, "reading params: "},
		{"endpoint that is none", `{"tool_id":"A.B","endpoint":"file:///canary"}`, "endpoint must be"},
		{"session of nobody", `{"tool_id":"A.B","sessionId":"canary"}`, "permd/session first"},
		{"definition of another tool", `{"tool_id":"A.B","tool":{"id":"A.C"}}`, "another tool"},
		{"definition of another toolkit", `{"tool_id":"A.B","tool":{"id":"a.B"}}`, "another tool"},
		{"definition without an id", `{"tool_id":"A.B","tool":{}}`, "tool.id must be"},
		{"definition of another version", tool(`"version":"1.3.0"`), "another version"},
		{"definition of two versions", `{"tool_id":"A.B","tool":{"id":"A.B@1.0.0","version":"1.0.1"}}`, "tool.version must be"},
		{"definition of a version that is none", tool(`"version":"latest"`), "tool.version must be"},
		{"definition as a list", `{"tool_id":"A.B","tool":[]}`, "tool must be an object"},
		{"requirements as a list", tool(`"requirements":[]`), "reading tool: "},
		{"requirement without an id", tool(`"requirements":{"secrets":[{}]}`), "tool.requirements.secrets[0].id"},
		{"authorization without an id", tool(`"requirements":{"authorization":[{}]}`), "tool.requirements.authorization[0]"},
		{"too many requirements", tool(`"requirements":{"authorization":[` + many + `]}`), "more than 64"},
		{"empty scope", tool(`"requirements":{"authorization":[{"id":"a","oauth2":{"scopes":[""]}}]}`), "a scope must be"},
		{"approval without the decision", `{"tool_id":"A.B","approval":{"url":"https://canary/"}}`, "approval: url"},
		{"approval that is no address", `{"tool_id":"A.B","approval":{"url":"javascript:{decisionId}"}}`, "approval: url"},
		{"approval checked elsewhere", `{"tool_id":"A.B","approval":{"url":"https://x/{decisionId}","checkUrl":"canary"}}`, "approval: url"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDaemon(t)
			d.verdicts["B"] = decisions.Allow
			v, err := d.Call(t, MethodCall, tt.params)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%s, %v, want %q", v, err, tt.want)
			}
			if strings.Contains(err.Error(), "canary") || d.got != nil {
				t.Errorf("%v, after %d decisions", err, len(d.got))
			}
		})
	}
}

// TestInputTwice: both names of the input are accepted if they have the same value.
func TestInputTwice(t *testing.T) {
	for _, params := range []string{
		`{"tool_id":"A.B","input":{"a":1,"b":["x",null]},"inputs":{"b":["x",null],"a":1}}`,
		`{"tool_id":"A.B","input":{"a":"\u0041"},"inputs": {"a" : "A"} }`,
		`{"tool_id":"A.B","input":null,"inputs":null}`,
	} {
		d := newDaemon(t)
		d.verdicts["B"] = decisions.Allow
		if a := d.call(t, params); a.Outcome != Run || d.got[0].Call.InputFrom != "input" {
			t.Errorf("%s: %+v", params, a)
		}
	}
}

// TestOutcomes: under any rules, a call that lacks something or does not fit its
// tool does not run.
func TestOutcomes(t *testing.T) {
	const requires = `"tool":{"id":"A.B","requirements":{"authorization":[{"id":"idp"},{"id":"idp"}],"secrets":[{"id":"KEY"},{"id":"OTHER"}],"user_id":true}}`
	const has = `"context":{"authorization":[{"id":"idp","token":"t"}],"secrets":[{"id":"OTHER","value":"v"},{"id":"KEY","value":"v"}],"user_id":"dana"}`
	unset := func(old, now string) string {
		return `{"tool_id":"A.B",` + strings.Replace(has, old, now, 1) + `,` + requires + `}`
	}
	schema := func(s string) string {
		return `{"tool_id":"A.B","input":{"n":1},"tool":{"id":"A.B","input_schema":` + s + `}}`
	}
	tests := []struct {
		name, params string
		verdict      decisions.Verdict
		want         Outcome
		status       int
		says         string
	}{
		{"allowed", `{"tool_id":"A.B"}`, decisions.Allow, Run, 0, ""},
		{"asked", `{"tool_id":"A.B"}`, decisions.Ask, Ask, 400, sayAsk},
		{"denied", `{"tool_id":"A.B"}`, decisions.Deny, Denied, 400, sayDenied + "not allowed by policy"},
		{"requirements met", `{"tool_id":"A.B",` + has + `,` + requires + `}`, decisions.Allow, Run, 0, ""},
		{"requirements unmet", `{"tool_id":"A.B",` + requires + `}`, decisions.Allow, outcomeUnmet, 400, sayUnmet + "secret KEY, secret OTHER, authorization idp, user_id"},
		{"one secret unmet", `{"tool_id":"A.B","context":{"authorization":[{"id":"idp","token":"t"}],"secrets":[{"id":"key","value":"v"},{"id":"OTHER","value":"v"}],"user_id":"x"},` + requires + `}`, decisions.Allow, outcomeUnmet, 400, sayUnmet + "secret KEY"},
		{"an authorization without a token", unset(`,"token":"t"`, ""), decisions.Allow, outcomeUnmet, 400, sayUnmet + "authorization idp"},
		{"an empty token", unset(`"t"`, `""`), decisions.Allow, outcomeUnmet, 400, sayUnmet + "authorization idp"},
		{"a token that is null", unset(`"t"`, `null`), decisions.Allow, outcomeUnmet, 400, sayUnmet + "authorization idp"},
		{"a token that is no text", unset(`"t"`, `{"t":"t"}`), decisions.Allow, outcomeUnmet, 400, sayUnmet + "authorization idp"},
		{"a token in one of two", unset(`{"id":"idp","token":"t"}`, `{"id":"idp"},{"id":"idp","token":"t"}`), decisions.Allow, Run, 0, ""},
		{"a secret without a value", unset(`"OTHER","value":"v"`, `"OTHER"`), decisions.Allow, outcomeUnmet, 400, sayUnmet + "secret OTHER"},
		{"an empty secret", unset(`"OTHER","value":"v"`, `"OTHER","value":""`), decisions.Allow, outcomeUnmet, 400, sayUnmet + "secret OTHER"},
		{"unmet and denied", `{"tool_id":"A.B",` + requires + `}`, decisions.Deny, Denied, 400, sayDenied + "not allowed by policy"},
		{"no requirements known", `{"tool_id":"A.B"}`, decisions.Allow, Run, 0, ""},
		{"input fits", schema(`{"type":"object","properties":{"n":{"type":"integer"}}}`), decisions.Allow, Run, 0, ""},
		{"input fits a wrapped schema", schema(`{"parameters":{"type":"object","properties":{"n":{"type":"integer"}}}}`), decisions.Allow, Run, 0, ""},
		{"input does not fit", schema(`{"type":"object","properties":{"n":{"type":"string"}}}`), decisions.Allow, outcomeInvalid, 422, sayInvalid},
		{"input does not fit a wrapped schema", schema(`{"parameters":{"properties":{"n":{"type":"string"}}}}`), decisions.Allow, outcomeInvalid, 422, sayInvalid},
		{"input fits one reading alone", schema(`{"properties":{"n":{"type":"integer"}},"parameters":{"properties":{"n":{"type":"string"}}}}`), decisions.Allow, outcomeInvalid, 422, sayInvalid},
		{"input fits the other reading alone", schema(`{"properties":{"n":{"type":"string"}},"parameters":{"properties":{"n":{"type":"integer"}}}}`), decisions.Allow, outcomeInvalid, 422, sayInvalid},
		{"missing parameter", schema(`{"required":["m"]}`), decisions.Allow, outcomeInvalid, 422, sayInvalid},
		{"no input", `{"tool_id":"A.B","tool":{"id":"A.B","input_schema":{"required":["m"]}}}`, decisions.Allow, outcomeInvalid, 422, sayInvalid},
		{"does not fit and is denied", schema(`{"properties":{"n":{"type":"string"}}}`), decisions.Deny, Denied, 400, sayDenied + "not allowed by policy"},
		{"schema that leaves the document", schema(`{"$ref":"https://example.com/x?key=canary"}`), decisions.Allow, Ask, 400, sayAsk},
		{"schema that is a list", schema(`[]`), decisions.Allow, Ask, 400, sayAsk},
		{"schema wraps a text", schema(`{"parameters":"x"}`), decisions.Allow, Ask, 400, sayAsk},
		{"schema with a pattern that backtracks", schema(`{"properties":{"n":{"pattern":"^(a+)+(?=b)$"}}}`), decisions.Allow, Ask, 400, sayAsk},
		{"input is a list", `{"tool_id":"A.B","input":[1]}`, decisions.Allow, outcomeInvalid, 422, sayInvalid + ": the input must be an object"},
		{"input is a text", `{"tool_id":"A.B","inputs":"{}"}`, decisions.Allow, outcomeInvalid, 422, sayInvalid + ": the input must be an object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDaemon(t)
			d.verdicts["B"] = tt.verdict
			a := d.call(t, tt.params)
			if a.Outcome != tt.want || (a.Decision.Verdict == decisions.Allow) != (tt.want == Run) {
				t.Fatalf("%s, verdict %s, want %s", a.Outcome, a.Decision.Verdict, tt.want)
			}
			switch {
			case tt.status == 0:
				if a.Response != nil || a.Result != nil {
					t.Errorf("%+v", a)
				}
			case a.Response == nil || a.Response.Status != tt.status || !strings.HasPrefix(a.Response.Body.Message, tt.says):
				t.Errorf("%+v", a.Response)
			case (a.Result == nil) != (tt.want == Ask):
				t.Errorf("result %+v", a.Result)
			case a.Result != nil && (a.Result.Success || a.Result.Error.CanRetry || a.Result.CallID != "d1" || a.Result.Error.Message != a.Response.Body.Message):
				t.Errorf("result %+v", a.Result)
			}
			// What the caller is told is in the record, also where nobody denies the call.
			sockettest.Diff(t, "refused", map[Outcome]decisions.Outcome{outcomeUnmet: decisions.Unmet, outcomeInvalid: decisions.Invalid}[tt.want],
				map[bool]decisions.Outcome{false: d.got[0].Refused}[a.Outcome == Denied])
			// Only a question can be answered.
			_, err := d.Call(t, "permd/choose", `{"decisionId":"d1","verdict":"allow"}`)
			if (err == nil) != (tt.want == Ask) {
				t.Errorf("permd/choose: %v", err)
			}
		})
	}
}

func TestUnmetForm(t *testing.T) {
	d := newDaemon(t)
	a := d.call(t, `{"tool_id":"A.B","tool":{"id":"A.B","requirements":{"authorization":[{"id":"idp"}],"secrets":[{"id":"KEY"}],"user_id":true}}}`)
	sockettest.Diff(t, "missing", &Missing{Authorization: []Challenge{{ID: "idp"}}, Secrets: []secretName{{"KEY"}}, UserID: true}, a.Response.Body.Missing)
	sockettest.Diff(t, "defects", []effects.Defect{{Code: effects.DefectContradiction, At: "context", Text: sayUnmet + "secret KEY, authorization idp, user_id"}}, d.got[0].Call.Defects)
}

// TestAgain: a repeated call gets the same answer, and another call with its id
// gets none.
func TestAgain(t *testing.T) {
	const first = `{"sessionId":"s","tool_id":"A.B@1.0.0","call_id":"c","input":{"a":1,"b":2}}`
	for _, verdict := range []decisions.Verdict{decisions.Allow, decisions.Ask, decisions.Deny} {
		t.Run(string(verdict), func(t *testing.T) {
			d := newDaemon(t)
			d.verdicts["B"] = verdict
			was := d.Must(t, MethodCall, first)
			for _, same := range []string{
				first,
				`{"sessionId":"s","tool_id":"A.B@1","call_id":"c","inputs":{"b":2,"a":1},"trace_id":"other"}`,
				`{"sessionId":"s","request":{"tool_id":"A.B@1.0.0","call_id":"c","input":{"a":1,"b":2},"context":{"authorization":[{"id":"new","token":"t"}]}}}`,
			} {
				sockettest.Diff(t, "again", was, d.Must(t, MethodCall, same))
			}
			sockettest.Diff(t, "decided", 1, len(d.got))

			d.changed = true
			a := d.call(t, first)
			sockettest.Diff(t, "anew", "d2", a.Decision.ID)
			if verdict == decisions.Ask {
				if _, err := d.Call(t, "permd/choose", `{"decisionId":"d1","verdict":"allow"}`); err == nil {
					t.Error("the old question can be answered")
				}
			}
			d.changed = false
			for i, other := range []string{
				`{"sessionId":"s","tool_id":"A.B@1.0.0","call_id":"c","input":{"a":1,"b":3}}`,
				`{"sessionId":"s","tool_id":"A.B@1.0.0","call_id":"c","input":{"a":1,"b":2.0}}`,
				`{"sessionId":"s","tool_id":"A.B@1.0.0","call_id":"c"}`,
				`{"sessionId":"s","tool_id":"A.B@1.0.1","call_id":"c","input":{"a":1,"b":2}}`,
				`{"sessionId":"s","tool_id":"A.B","call_id":"c","input":{"a":1,"b":2}}`,
				`{"sessionId":"s","tool_id":"C.B@1.0.0","call_id":"c","input":{"a":1,"b":2}}`,
				`{"sessionId":"s","tool_id":"A.B@1.0.0","call_id":"c","input":{"a":1,"b":2},"endpoint":"https://evil.example"}`,
			} {
				a := d.call(t, other)
				if a.Outcome != Denied || a.Decision.Verdict == decisions.Allow || !strings.Contains(a.Result.Error.Message, "also used") && verdict != decisions.Deny {
					t.Errorf("%s: %+v", other, a)
				}
				marked := d.got[2+i].Call.Defects
				sockettest.Diff(t, "marked", []effects.Defect{{Code: effects.DefectContradiction, At: "call_id", Text: whyOther}}, marked)
				if _, err := d.Call(t, "permd/choose", fmt.Sprintf(`{"decisionId":%q,"verdict":"allow"}`, a.Decision.ID)); err == nil {
					t.Error("a person could allow it")
				}
			}
			sockettest.Diff(t, "the first one still", "d2", d.call(t, first).Decision.ID)
		})
	}
}

// TestAgainElsewhere: ids belong to a session of a connection, and end with them.
func TestAgainElsewhere(t *testing.T) {
	d := newDaemon(t)
	d.verdicts["B"] = decisions.Allow
	call := func(session, n string) Answer {
		t.Helper()
		return d.call(t, `{`+session+`"tool_id":"A.B","call_id":"c","input":{"n":`+n+`}}`)
	}
	const s = `"sessionId":"s",`
	for i, outcome := range []Outcome{call(s, "1").Outcome, call("", "2").Outcome, call(s, "3").Outcome, call("", "2").Outcome} {
		sockettest.Diff(t, fmt.Sprint(i), []Outcome{Run, Run, Denied, Run}[i], outcome)
	}
	d.Must(t, "permd/close", `{"sessionId":"s"}`)
	d.Must(t, "permd/session", `{"sessionId":"s","cwd":"/home/ana/shop"}`)
	sockettest.Diff(t, "in a new session", Run, call(s, "3").Outcome)
	sockettest.Diff(t, "in none", "d2", call("", "2").Decision.ID)
	d.connect(t, 2)
	sockettest.Diff(t, "on another connection", Run, call(s, "4").Outcome)
	// Calls without an id are independent.
	a, b := d.call(t, `{"tool_id":"A.B"}`), d.call(t, `{"tool_id":"A.B"}`)
	if a.Decision.ID == b.Decision.ID {
		t.Error("two calls without an id have one decision")
	}
}

// TestBounds: a connection keeps its newest ids, within a bound in bytes.
func TestBounds(t *testing.T) {
	d := newDaemon(t)
	d.verdicts["B"] = decisions.Allow
	call := func(i int, n string) Answer {
		return d.call(t, fmt.Sprintf(`{"tool_id":"A.B","call_id":"%d","input":{"n":%s}}`, i, n))
	}
	for i := range maxCalls + 1 {
		call(i, "1")
	}
	sockettest.Diff(t, "the newest", Denied, call(maxCalls, "2").Outcome)
	sockettest.Diff(t, "the oldest that is known", Denied, call(1, "2").Outcome)
	sockettest.Diff(t, "the one that was forgotten", Run, call(0, "2").Outcome)

	var s calls
	s.entries = map[callKey]*callEntry{}
	for i := range 10 {
		s.slotOf(callKey{"", fmt.Sprint(i)}, sum{}, maxCallBytes/4)
		if s.size > maxCallBytes || len(s.entries) != len(s.order) {
			t.Fatalf("%d: %d bytes, %d and %d", i, s.size, len(s.entries), len(s.order))
		}
	}
	s.slotOf(callKey{"", "huge"}, sum{}, 2*maxCallBytes)
	s.end("")
	if s.size != 0 || len(s.entries)+len(s.order) != 0 {
		t.Errorf("left are %d bytes, %d and %d", s.size, len(s.entries), len(s.order))
	}
}

func TestLost(t *testing.T) {
	d := newDaemon(t)
	d.verdicts["B"], d.lost = decisions.Allow, true
	if v, err := d.Call(t, MethodCall, `{"tool_id":"A.B","call_id":"c"}`); err == nil {
		t.Fatalf("%s", v)
	}
	d.lost = false
	was := d.call(t, `{"tool_id":"A.B","call_id":"c"}`)
	sockettest.Diff(t, "afterwards", Run, was.Outcome)
	// An answer that no longer holds is not repeated.
	d.changed, d.lost = true, true
	if v, err := d.Call(t, MethodCall, `{"tool_id":"A.B","call_id":"c"}`); err == nil {
		t.Fatalf("%s", v)
	}
	d.changed, d.lost = false, false
	if again := d.call(t, `{"tool_id":"A.B","call_id":"c"}`); again.Decision.ID == was.Decision.ID {
		t.Error("it came back")
	}
}

// TestSum: two requests have the same sum if and only if they say the same.
func TestSum(t *testing.T) {
	same := [][]string{
		{`{"a":1,"b":[true,null,"x"]}`, ` { "b" : [ true, null , "\u0078"], "a":1 } `},
		{`{"a":1,"b":[true,null,"y"]}`}, {`{"b":1,"a":[true,null,"x"]}`}, {`{"c":1,"b":[true,null,"x"]}`}, {`{"a":1.0,"b":[true,null,"x"]}`},
		{`{"a":"1","b":[true,null,"x"]}`}, {`{"a":1,"b":[null,true,"x"]}`}, {`{"a":1}`}, {`{}`}, {`[]`}, {`""`}, {`0`}, {`-0`}, {`null`}, {`false`}, {`"null"`},
		{`["a","b"]`}, {`["ab",""]`}, {`[["a"],"b"]`}, {`[["a","b"]]`}, {`{"a":{"b":1}}`}, {`{"a":{},"b":1}`}, {`{"ab":1}`}, {`""`, `  ""`},
		{`9007199254740992`}, {`9007199254740993`}, {`1e2`}, {`100`, ` 100 `}, {`"é"`, `"\u00e9"`}, {`"e\u0301"`},
	}
	seen := map[sum]int{}
	for i, list := range same {
		for _, v := range list {
			of := sumOf([]byte(v))
			if j, ok := seen[of]; ok && j != i && list[0] != same[j][0] {
				t.Errorf("%s has the sum of %s", v, same[j][0])
			}
			if of != sumOf([]byte(list[0])) {
				t.Errorf("%s has another sum than %s", v, list[0])
			}
			seen[of] = i
		}
	}
}
