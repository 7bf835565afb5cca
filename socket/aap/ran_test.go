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
