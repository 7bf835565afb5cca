package aap

import (
	"fmt"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/native"
	"github.com/permd/permd/socket/sockettest"
)

// TestLate: an answer that comes after the denial counts for the same call once, and for no
// other.
func TestLate(t *testing.T) {
	const yes, no = `{"decisionId":"d1","verdict":"allow"}`, `{"decisionId":"d1","verdict":"deny"}`
	for name, c := range map[string]struct {
		answer, call string
		between      func(d *daemon)
		want         string
	}{
		"yes":                      {yes, "x mine 1", nil, "x client execute"},
		"no":                       {no, "x mine 1", nil, "x client denied"},
		"no answer":                {"", "x mine 1", nil, "x client ask"},
		"yes, other input":         {yes, "x mine 2", nil, "x client ask"},
		"yes, another tool":        {yes, "x t 1", nil, "x server ask"},
		"yes, other rules":         {yes, "x mine 1", func(d *daemon) { d.digest = "other" }, "x client ask"},
		"no, other rules":          {no, "x mine 1", func(d *daemon) { d.digest = "other" }, "x client ask"},
		"yes, another question":    {yes, "x mine 1", func(d *daemon) { d.by = decisions.ByFailure }, "x client ask"},
		"yes, denied by now":       {yes, "x mine 1", func(d *daemon) { d.verdicts["mine"] = decisions.Deny }, "x client denied: not allowed by policy"},
		"yes, allowed by now":      {yes, "x mine 1", func(d *daemon) { d.verdicts["mine"] = decisions.Allow }, "x client execute"},
		"yes, the turn cancelled":  {yes, "x mine 1", func(d *daemon) { native.StateOf(d.Conn).Cancel("s") }, "x client ask"},
		"yes, the session changed": {yes, "x mine 1", func(d *daemon) { d.Must(t, native.MethodSession, `{"sessionId":"s","cwd":"/tmp"}`) }, "x client ask"},
		"yes, remembered":          {`{"decisionId":"d1","verdict":"allow","width":"w1","scope":"project"}`, "x mine 1", func(d *daemon) { delete(d.verdicts, "mine") }, "x client ask"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			d.must(t, MethodPermissions, theTurn+`,`+turnOf("a mine 1")+`}`)
			r := d.must(t, MethodAnswer, `{"sessionId":"s","batchId":"b1","answers":[{"toolCallId":"a","verdict":"deny","later":true,"reason":"nobody"}]}`)
			sockettest.Diff(t, "denied", []string{"a client denied: nobody"}, outcomes(r))
			if c.answer != "" {
				d.Must(t, native.MethodChoose, c.answer)
			}
			if c.between != nil {
				c.between(d)
			}
			for n := range 2 { // it is spent when it is used
				id := string(rune('x' + n))
				r = d.must(t, MethodPermissions, theTurn+`,`+turnOf(id+c.call[1:])+`}`)
				want := id + c.want[1:]
				if n == 1 && (c.want == "x client execute" || c.want == "x client denied") && d.verdicts["mine"] == "" {
					want = id + " client ask"
				}
				sockettest.Diff(t, fmt.Sprint("call ", n), []string{want}, outcomes(r))
			}
		})
	}
}

// TestLateBound: a question that is forgotten since there are too many takes no answer.
func TestLateBound(t *testing.T) {
	d := newDaemon(t)
	for n := range maxLate + 1 {
		d.must(t, MethodPermissions, theTurn+`,`+turnOf(fmt.Sprintf("c%d mine %d", n, n))+`}`)
		d.must(t, MethodAnswer, fmt.Sprintf(`{"sessionId":"s","batchId":"b%d","answers":[{"toolCallId":"c%d","verdict":"deny","later":true}]}`, n+1, n))
	}
	d.Refused(t, native.MethodChoose, `{"decisionId":"d1","verdict":"allow"}`, "no question of that decisionId")
	d.Must(t, native.MethodChoose, `{"decisionId":"d2","verdict":"allow"}`)
}
