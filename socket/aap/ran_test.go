package aap

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/sockettest"
)

// TestRan: calls that have their result in the turn are recorded, with what permd would have
// answered, and whether the tool was trusted.
func TestRan(t *testing.T) {
	for name, c := range map[string]struct{ turn, want, requests string }{
		"trusted":              {turnOf("a trusted 1", "a", "b theirs 1"), "a trusted allow", "trusted:true,false"},
		"denied by a rule":     {turnOf("a evil 1", "a"), "a evil deny", "evil:true,false"},
		"not trusted":          {turnOf("a theirs 1", "a"), "a theirs ask", "theirs:false,false"},
		"not in the list":      {turnOf("a other 1", "a"), "a other ask", "other:false,true"},
		"in the client's name": {turnOf("a mine 1", "a"), "a mine ask", "mine:false,true"},
		"one id, two calls":    {turnOf("a trusted 1", "a trusted 2", "a"), "a trusted allow a trusted allow", "trusted:true,false trusted:true,false"},
		"one id, again":        {turnOf("a trusted 1", "a", "a trusted 1", "a"), "a trusted allow a trusted allow", "trusted:true,false trusted:true,false"},
		"none":                 {turnOf("b theirs 1"), "", ""},
		"the result first":     {turnOf("a", "a trusted 1"), "a trusted allow", "trusted:true,false"},
		"results first, twice": {turnOf("a", "a trusted 1", "a trusted 1", "a"), "a trusted allow a trusted allow", "trusted:true,false trusted:true,false"},
		"of an earlier turn":   {turnOf("b", "c theirs 1"), "", ""},
		"the turn has ended":   {turnStopped("end_turn", "a trusted 1", "a"), "a trusted allow", "trusted:true,false"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			d.verdicts["trusted"], d.verdicts["evil"] = decisions.Allow, decisions.Deny
			var r RanResult
			text := d.Must(t, MethodRan, `{"sessionId":"s","agent":{"name":"helper","tools":[{"name":"theirs"},{"name":"trusted","trust":true},{"name":"evil","trust":true}]},"tools":[{"name":"mine"}],`+c.turn+`}`)
			if err := strictjson.Unmarshal(strictjson.Value(text), &r); err != nil {
				t.Fatal(err)
			}
			var got, asked []string
			for _, call := range r.Calls {
				got = append(got, call.ToolCallID, call.Name, string(call.Decision.Verdict))
			}
			for _, q := range d.got {
				tool := q.Call.Tool
				asked = append(asked, tool.Name+":"+flags(tool.Trusted, tool.Unlisted))
				if q.Ran != decisions.RanUnprompted || tool.Server != "helper" {
					t.Errorf("the request is %+v", q)
				}
			}
			sockettest.Diff(t, "calls", c.want, strings.Join(got, " "))
			sockettest.Diff(t, "requests", c.requests, strings.Join(asked, " "))
		})
	}
}

func flags(list ...bool) string {
	var words []string
	for _, b := range list {
		words = append(words, map[bool]string{true: "true", false: "false"}[b])
	}
	return strings.Join(words, ",")
}

func TestRanRefused(t *testing.T) {
	d := newDaemon(t)
	for says, params := range map[string]string{
		"not declared":          `{"sessionId":"z","agent":{"name":"h"},` + turnOf() + `}`,
		"sessionId is missing":  `{"agent":{"name":"h"},` + turnOf() + `}`,
		"turn must be":          `{"sessionId":"s","agent":{"name":"h"}}`,
		"reading params":        `{"sessionId":"s","agent":{"name":"h"},"history":[],` + turnOf() + `,"Turn":{}}`,
		"agent.name":            `{"sessionId":"s","agent":{},` + turnOf() + `}`,
		"ends before turn_stop": `{"sessionId":"s","agent":{"name":"h"},"turn":{"events":[{"event":"turn_start"}]}}`,
	} {
		d.Refused(t, MethodRan, params, says)
	}
	if len(d.got) > 0 {
		t.Errorf("decided were %+v", d.got)
	}
}

// TestRanByPermission: a call that permd or a person allowed is not one that ran unasked, but
// each permission is for one run of just that call.
func TestRanByPermission(t *testing.T) {
	for name, c := range map[string]struct {
		verdict decisions.Verdict
		answer  string // that of the person
		ran     string
		want    int
	}{
		"allowed by a person":   {"", "allow", turnOf("a theirs 1", "a"), 0},
		"allowed by rules":      {decisions.Allow, "", turnOf("a theirs 1", "a"), 0},
		"the result first":      {"", "allow", turnOf("a", "a theirs 1"), 0},
		"ran twice":             {"", "allow", turnOf("a theirs 1", "a", "a theirs 1", "a"), 1},
		"denied by a person":    {"", "deny", turnOf("a theirs 1", "a"), 1},
		"not answered":          {"", "", turnOf("a theirs 1", "a"), 1},
		"denied by rules":       {decisions.Deny, "", turnOf("a theirs 1", "a"), 1},
		"another input":         {"", "allow", turnOf("a theirs 2", "a"), 1},
		"another tool":          {"", "allow", turnOf("a other 1", "a"), 1},
		"another id":            {"", "allow", turnOf("b theirs 1", "b"), 1},
		"and one more, unasked": {"", "allow", turnOf("a theirs 1", "a", "b theirs 1", "b"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			d.verdicts["theirs"] = c.verdict
			const agent = `{"sessionId":"s","agent":{"name":"helper"},`
			d.must(t, MethodPermissions, agent+turnOf("a theirs 1")+`}`)
			if c.answer != "" {
				d.must(t, MethodAnswer, answers(`{"toolCallId":"a","verdict":"`+c.answer+`"}`))
			}
			var r RanResult
			if err := strictjson.Unmarshal(strictjson.Value(d.Must(t, MethodRan, agent+c.ran+`}`)), &r); err != nil {
				t.Fatal(err)
			}
			if len(r.Calls) != c.want {
				t.Errorf("%d ran unasked, want %d: %+v", len(r.Calls), c.want, r.Calls)
			}
		})
	}
}
