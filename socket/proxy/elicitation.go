package proxy

import (
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/client"
)

// Codex asks for permission to use a server's tool with a form, if the client can show
// one: yes or no, and for how long. Such a form is decided as a permission request about
// the call that it names. Every other form is a question to the person, and so is one
// that asks for anything else as well.

const methodElicit = "elicitation/create"

// The answers to a form.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// The ids of the options that stand for these answers.
const (
	formAllow  = "once"
	formReject = "decline"
)

var formOptions = strictjson.Value(`[{"optionId":"` + formAllow + `","name":"Allow","kind":"allow_once"},{"optionId":"` + formReject + `","name":"Decline","kind":"reject_once"}]`)

// form is a form that asks for permission.
type form struct {
	// content is the answer for a yes, once; nil if the form asks for more than that.
	content strictjson.Value
}

// approves reports whether a form asks for permission for one call. Without the call,
// the tool is not known.
func approves(m *message) bool {
	o, err := strictjson.ParseObject(m.params)
	return err == nil && o.NearMiss("sessionId", "toolCallId", "mode", "message", "requestedSchema", "_meta") == "" && text(m.params, "_meta", "codex_approval_kind") == "mcp_tool_call" && text(m.params, "mode") == "form" &&
		text(m.params, "sessionId") != "" && text(m.params, "toolCallId") != ""
}

// elicitation handles such a form.
func (c *core) elicitation(m *message) {
	if !c.checkID(agentSide, m) {
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
		form: &form{content: onceContent(strictjson.Find(m.params, "requestedSchema"))},
	})
}

// onceContent returns the content for a yes, once, to a form that asks for nothing but
// its duration; nil for every other form.
func onceContent(schema strictjson.Value) strictjson.Value {
	o, ok := objectWithOnly(schema, "type", "title", "description", "properties", "required")
	if !ok || text(schema, "type") != "object" {
		return nil
	}
	properties, ok := o.Get("properties")
	asks, err := strictjson.ParseObject(properties)
	if !ok || strictjson.Kind(properties) != '{' || err != nil {
		return nil
	}
	required, ok := textList(o, "required")
	switch {
	case !ok || slices.ContainsFunc(required, func(name string) bool { return name != "persist" }):
		return nil
	case len(asks) == 0 && len(required) == 0:
		return strictjson.Value("{}")
	case len(asks) != 1 || asks[0].Name != "persist" || !isDuration(asks[0].Value):
		return nil
	}
	return object(member("persist", formAllow))
}

// isDuration reports whether a property is the choice of how long a yes applies.
func isDuration(v strictjson.Value) bool {
	o, ok := objectWithOnly(v, "type", "title", "description", "oneOf", "enum", "default")
	if !ok || text(v, "type") != "string" {
		return false
	}
	values, ok := textList(o, "enum")
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

// objectWithOnly reads an object that has no members but these.
func objectWithOnly(v strictjson.Value, names ...string) (strictjson.Object, bool) {
	if strictjson.Kind(v) != '{' {
		return nil, false
	}
	o, err := strictjson.ParseObject(v)
	return o, err == nil && !slices.ContainsFunc(o, func(m strictjson.Member) bool { return !slices.Contains(names, m.Name) })
}

// textList reads a member that is a list of texts, nil if it is absent.
func textList(o strictjson.Object, name string) (list []string, ok bool) {
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

// formAnswer expresses permd's answer as one to the form; false if that would mean more,
// or if something else than a server's tool was allowed.
func (f *form) formAnswer(id, result strictjson.Value) ([]byte, bool) {
	switch text(result, "outcome", "optionId") {
	case formAllow:
		if f.content == nil || !decidesToolUse(result) {
			return nil, false
		}
		return response(id, object(member("action", actionAccept), strictjson.Member{Name: "content", Value: f.content})), true
	case formReject:
		return response(id, object(member("action", actionDecline))), true
	}
	return response(id, object(member("action", actionCancel))), true
}

// decidesToolUse reports whether permd has decided about a server's tool.
func decidesToolUse(result strictjson.Value) bool {
	list, err := strictjson.ParseArray(strictjson.Find(result, "_meta", "permd", "effects"))
	return err == nil && slices.ContainsFunc(list, func(e strictjson.Value) bool { return text(e, "kind") == string(effects.KindUse) })
}

// readApproval returns the meaning of a person's answer that accepts the form. If it is
// meant to last, permd remembers it, and the agent gets it as one for once. The form
// names no rules, so permd uses the narrowest width, and reports which.
func (f *form) readApproval(t *trackedRequest, m *message) *approval {
	y := &approval{line: m.line, onceChoice: &client.Choice{Verdict: decisions.Allow}}
	if text(m.result, "action") != actionAccept {
		return y // only the agent knows its meaning
	}
	y.choice = y.onceChoice
	persist := text(m.result, "content", "persist")
	if t.decision == nil || persist != "session" && persist != "always" {
		return y
	}
	y.always, y.announced = true, true
	y.line = t.withAnswer(m, formAllow, "content", "persist")
	if widths := t.decision.Widths; len(widths) > 0 {
		y.choice = &client.Choice{Verdict: decisions.Allow, Width: widths[0].ID}
		if persist == "session" {
			y.choice.Scope = "session"
		}
	}
	return y
}
