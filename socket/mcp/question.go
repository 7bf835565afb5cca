package mcp

import (
	"context"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// askPerson asks the person through the client. It reports false if they gave no answer.
func (g *gateway) askPerson(ctx context.Context, c *toolCall, params string, d *decisions.Decision) (*client.Choice, bool) {
	ctx, cancel := context.WithTimeout(ctx, personTimeout)
	defer cancel()
	var result strictjson.Value
	if c.meta != nil {
		result = g.askInResult(ctx, c, params)
	} else if m, err := g.ask(ctx, g.client, methodElicit, params); err == nil {
		result = m.result
	}
	if result == nil {
		return nil, false
	}
	action, _ := strictjson.ParseString(strictjson.Find(result, "action"))
	choice := &client.Choice{DecisionID: d.ID, Verdict: decisions.Deny}
	switch action {
	case "decline":
		return choice, true
	case "accept":
	default:
		return nil, false
	}
	answer, _ := strictjson.ParseString(strictjson.Find(result, "content", "answer"))
	switch answer {
	case answerReject:
		return choice, true
	case answerOnce:
		choice.Verdict = decisions.Allow
		return choice, true
	}
	for _, w := range offered(d) {
		if w.ID == answer {
			choice.Verdict, choice.Width = decisions.Allow, w.ID
			return choice, true
		}
	}
	return nil, false
}

const (
	answerOnce   = "once"
	answerReject = "reject"
)

// offered are the widths that a yes can be remembered with. One without a scope is for
// a call outside of any project, where permd allow says for whom.
func offered(d *decisions.Decision) (list []decisions.Width) {
	for _, w := range d.Widths {
		if w.Scope != "" {
			list = append(list, w)
		}
	}
	return list
}

// inScope says where a width would hold, unless its words do.
func inScope(w decisions.Width) string {
	switch {
	case strings.Contains(w.Label, w.Scope):
		return ""
	case w.Scope == "user":
		return " (everywhere)"
	}
	return " (in this " + strings.TrimSuffix(w.Scope, "+children") + ")"
}

// question returns the params of the question to the person. It reports false if the
// call cannot be shown whole.
func question(c *toolCall, d *decisions.Decision) (params string, ok bool) {
	arguments, ok := display.Arguments(c.input)
	if !ok {
		return "", false
	}
	var b strings.Builder
	b.WriteString("permd asks: " + display.Display(d.Reason))
	for i := range d.Effects {
		b.WriteString("\n" + display.Display(d.Effects[i].Text))
	}
	b.WriteString("\narguments: " + arguments)
	for _, f := range d.Defects {
		b.WriteString("\n" + display.Display(f.Text))
	}
	if d.NotRemembered != "" {
		b.WriteString("\nonly once, not remembered: " + display.Display(d.NotRemembered))
	}
	ids, names := []string{quote(answerOnce)}, []string{quote("Allow once")}
	for _, w := range offered(d) {
		ids = append(ids, quote(w.ID))
		names = append(names, quote("Always: "+display.Display(w.Label)+inScope(w)))
	}
	ids, names = append(ids, quote(answerReject)), append(names, quote("Reject"))
	return `{"message":` + quote(b.String()) + `,"requestedSchema":{"type":"object","properties":{"answer":{"type":"string","title":"May this call run?","enum":[` +
		strings.Join(ids, ",") + `],"enumNames":[` + strings.Join(names, ",") + `]}},"required":["answer"]}}`, true
}
