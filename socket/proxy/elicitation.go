package proxy

import (
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// Codex asks for permission to use a tool of a server with a form, where the
// client can show one: yes or no, and for how long. Such a form is decided as a
// request for permission about the call that it names. Every other form is a
// question to the person, and so is one that asks for anything else as well.

const methodElicit = "elicitation/create"

// The answers to a form.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// The ids of the options of the answers.
const (
	formAllow  = "once"
	formReject = "decline"
)

var formOptions = strictjson.Value(`[{"optionId":"` + formAllow + `","name":"Allow","kind":"allow_once"},{"optionId":"` + formReject + `","name":"Decline","kind":"reject_once"}]`)

// form is a form that asks for permission.
type form struct {
	// content says yes, once; nil when the form asks for more than that.
	content strictjson.Value
}

// approves reports whether a form asks for permission for one call. Without the
// call the tool is not known.
func approves(m *message) bool {
	o, err := strictjson.ParseObject(m.params)
	return err == nil && o.NearMiss("sessionId", "toolCallId", "mode", "message", "requestedSchema", "_meta") == "" && text(m.params, "_meta", "codex_approval_kind") == "mcp_tool_call" && text(m.params, "mode") == "form" &&
		text(m.params, "sessionId") != "" && text(m.params, "toolCallId") != ""
}

// elicitation takes such a form.
func (c *core) elicitation(m *message) {
	if !c.admit(agentSide, m) {
		return
	}
	session := text(m.params, "sessionId")
	about := strictjson.Member{Name: "toolCall", Value: object(member("toolCallId", text(m.params, "toolCallId")))}
	params := []strictjson.Member{member("sessionId", session)}
	if c.version == 2 {
		params = append(params, member("title", text(m.params, "message")), strictjson.Member{Name: "subject", Value: object(member("type", "tool_call"), about)})
	} else {
		params = append(params, about)
	}
	meta := object(
		strictjson.Member{Name: "is_mcp_tool_approval", Value: strictjson.Value("true")},
		strictjson.Member{Name: "tool_params", Value: strictjson.Find(m.params, "_meta", "tool_params")},
		member("approval_message", text(m.params, "message")),
	)
	params = append(params, strictjson.Member{Name: "_meta", Value: meta}, strictjson.Member{Name: "options", Value: formOptions})
	c.decide(&trackedRequest{
		from: agentSide, id: m.id, line: m.line, params: object(params...), session: session,
		form: &form{content: onceOf(strictjson.Find(m.params, "requestedSchema"))},
	})
}

// onceOf is the content that says yes for once to a form that asks for nothing
// but how long it holds; nil for every other form.
func onceOf(schema strictjson.Value) strictjson.Value {
	o, ok := only(schema, "type", "title", "description", "properties", "required")
	if !ok || text(schema, "type") != "object" {
		return nil
	}
	properties, ok := o.Get("properties")
	asks, err := strictjson.ParseObject(properties)
	if !ok || strictjson.Kind(properties) != '{' || err != nil {
		return nil
	}
	required, ok := listed(o, "required")
	switch {
	case !ok || slices.ContainsFunc(required, func(name string) bool { return name != "persist" }):
		return nil
	case len(asks) == 0 && len(required) == 0:
		return strictjson.Value("{}")
	case len(asks) != 1 || asks[0].Name != "persist" || !lasts(asks[0].Value):
		return nil
	}
	return object(member("persist", formAllow))
}

// lasts reports whether a property is the choice of how long a yes holds.
func lasts(v strictjson.Value) bool {
	o, ok := only(v, "type", "title", "description", "oneOf", "enum", "default")
	if !ok || text(v, "type") != "string" {
		return false
	}
	values, ok := listed(o, "enum")
	if items, has := o.Get("oneOf"); has {
		list, err := strictjson.ParseArray(items)
		if !ok || values != nil || strictjson.Kind(items) != '[' || err != nil {
			return false
		}
		for _, i := range list {
			values = append(values, text(i, "const"))
		}
	}
	return ok && slices.Contains(values, formAllow) &&
		!slices.ContainsFunc(values, func(s string) bool { return s != formAllow && s != "session" && s != "always" })
}

// only reads an object that has none but these members.
func only(v strictjson.Value, names ...string) (strictjson.Object, bool) {
	if strictjson.Kind(v) != '{' {
		return nil, false
	}
	o, err := strictjson.ParseObject(v)
	return o, err == nil && !slices.ContainsFunc(o, func(m strictjson.Member) bool { return !slices.Contains(names, m.Name) })
}

// listed reads a member that is a list of texts, nil when it is not there.
func listed(o strictjson.Object, name string) (list []string, ok bool) {
	v, has := o.Get(name)
	if !has {
		return nil, true
	}
	items, err := strictjson.ParseArray(v)
	for _, i := range items {
		s, ok := strictjson.ParseString(i)
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, err == nil
}

// answers puts permd's answer in the form's words; false where they would say
// more, or where what was allowed is no tool of a server.
func (f *form) answers(id, result strictjson.Value) ([]byte, bool) {
	switch text(result, "outcome", "optionId") {
	case formAllow:
		if f.content == nil || !uses(result) {
			return nil, false
		}
		return response(id, object(member("action", actionAccept), strictjson.Member{Name: "content", Value: f.content})), true
	case formReject:
		return response(id, object(member("action", actionDecline))), true
	}
	return response(id, object(member("action", actionCancel))), true
}

// uses reports whether permd has decided about a tool of a server.
func uses(result strictjson.Value) bool {
	list, err := strictjson.ParseArray(strictjson.Find(result, "_meta", "permd", "effects"))
	return err == nil && slices.ContainsFunc(list, func(e strictjson.Value) bool { return text(e, "kind") == string(effects.KindUse) })
}

// reads returns the meaning of a person's answer that accepts the form. If it
// is meant to last, permd remembers it, and the agent is told that it applies
// once. The form names no rules, so permd uses the narrowest, and reports
// which.
func (f *form) reads(t *trackedRequest, m *message) *approval {
	y := &approval{line: m.line, onceChoice: &client.Choice{Verdict: decisions.Allow}}
	if text(m.result, "action") != actionAccept {
		return y // only the agent knows what that means
	}
	y.choice = y.onceChoice
	persist := text(m.result, "content", "persist")
	if t.decision == nil || persist != "session" && persist != "always" {
		return y
	}
	y.always, y.announced = true, true
	y.line = t.instead(m, formAllow, "content", "persist")
	if widths := t.decision.Widths; len(widths) > 0 {
		y.choice = &client.Choice{Verdict: decisions.Allow, Width: widths[0].ID}
		if persist == "session" {
			y.choice.Scope = "session"
		}
	}
	return y
}
