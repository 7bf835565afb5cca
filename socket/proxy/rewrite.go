package proxy

import (
	"bytes"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/acp"
)

// maxOptions is how many options of a request are read.
const maxOptions = 64

// widthID begins the ids of options that are permd's widths.
const widthID = "permd-width-"

// option is one option of a request, with its text.
type option struct {
	acp.Option
	raw strictjson.Value
}

// readOptions returns the options of a request; false if they cannot be read or
// distinguished.
func (t *trackedRequest) readOptions() ([]option, bool) {
	if !t.optionsRead {
		t.options, t.optionsFit = readOptions(t.params)
		t.optionsRead = true
	}
	return t.options, t.optionsFit
}

func readOptions(params strictjson.Value) ([]option, bool) {
	v := strictjson.Find(params, "options")
	if strictjson.Kind(v) != '[' {
		return nil, false
	}
	items, err := strictjson.ParseArray(v)
	if err != nil || len(items) == 0 || len(items) > maxOptions {
		return nil, false
	}
	options := make([]option, len(items))
	room := make([]strictjson.Member, 0, 8)
	for i, item := range items {
		if strictjson.Kind(item) != '{' {
			return nil, false
		}
		list, err := strictjson.AppendObject(room[:0], item)
		if err != nil {
			return nil, false
		}
		o := option{raw: item}
		for _, m := range list {
			switch m.Name {
			case "optionId":
				o.ID, _ = strictjson.ParseString(m.Value)
			case "name":
				o.Name, _ = strictjson.ParseString(m.Value)
			case "kind":
				kind, _ := strictjson.ParseString(m.Value)
				o.Kind = acp.OptionKind(kind)
			}
		}
		if o.ID == "" || slices.ContainsFunc(options[:i], func(p option) bool { return p.ID == o.ID }) {
			return nil, false
		}
		options[i] = o
	}
	return options, true
}

// shownOptions are the options that a person was shown in place of the request's.
type shownOptions struct {
	options []option
	widths  map[string]string // by the id of their option
	once    string            // the option that allows just this call
	reject  string            // the one that rejects just this call; "" for none
}

// pick is the meaning of an answer.
type pick struct {
	option string // the option sent to the agent
	width  string // what is to be remembered
	always bool
}

func (s *shownOptions) pick(id string) pick {
	if w, ok := s.widths[id]; ok {
		return pick{option: s.once, width: w, always: true}
	}
	i := slices.IndexFunc(s.options, func(o option) bool { return o.ID == id })
	if i < 0 {
		return pick{option: id}
	}
	switch s.options[i].Kind {
	case acp.AllowAlways: // the person was not shown this option
		return pick{option: s.once, always: true}
	case acp.RejectAlways:
		if s.reject != "" {
			return pick{option: s.reject, always: true}
		}
		return pick{option: id, always: true}
	case acp.AllowOnce, acp.RejectOnce:
	}
	return pick{option: id}
}

// rewrite returns the request as the person is shown it: with permd's widths
// for the options that the agent would remember, and the reason why permd asks.
// It returns nil if the request must not be changed: a question, a switch of
// mode, one without an option that allows just this call, and one that is not
// about a call.
func (c *core) rewrite(t *trackedRequest, d *decisions.Decision) (*shownOptions, []byte) {
	shape := shapeOf(t.params)
	if shape == 0 || c.version != 0 && c.version != shape || !isPermission(d) {
		return nil, nil
	}
	options, ok := t.readOptions()
	if !ok {
		return nil, nil
	}
	plain := make([]acp.Option, len(options))
	for i, o := range options {
		plain[i] = o.Option
		if strings.HasPrefix(o.ID, widthID) {
			return nil, nil
		}
	}
	s := &shownOptions{options: options, widths: map[string]string{}}
	if s.once, ok = acp.Choose(plain, decisions.Allow, acp.Facts{Plain: c.onceOption(c.parties[agentSide])}); !ok {
		return nil, nil
	}
	s.reject, _ = acp.Choose(plain, decisions.Deny, acp.Facts{})
	line, ok := put(bytes.TrimSpace(t.line), s.list(d.Widths), "params", "options")
	if !ok {
		return nil, nil
	}
	if !c.rules.NoReasons && d.Reason != "" {
		line = c.explain(t, shape, line, "permd asks: "+d.Reason)
	}
	return s, append(line, '\n')
}

// shapeOf returns the protocol version of a request about a call, by its shape; 0 for a
// request about something else, or about nothing that it names.
func shapeOf(params strictjson.Value) int {
	o, err := strictjson.ParseObject(params)
	if err != nil {
		return 0
	}
	_, call := o.Get("toolCall")
	_, title := o.Get("title")
	subject, has := o.Get("subject")
	switch {
	case call && !title && !has:
		return 1
	case !call && title && (text(subject, "type") == "tool_call" || text(subject, "type") == "command"):
		return 2
	}
	return 0
}

// isPermission reports whether a decision is about a call that a person permits, and not
// about a question that they answer.
func isPermission(d *decisions.Decision) bool {
	for _, e := range d.Effects {
		if e.Kind == effects.KindQuestion || e.Kind == effects.KindMode {
			return false
		}
	}
	for _, f := range d.Defects {
		if f.Code == effects.DefectOption {
			return false
		}
	}
	return true
}

// list returns the options that the person is shown. The widths follow the option for
// once, wherever the agent's own were: some clients pick the first one that allows, and
// that must not be remembered.
func (s *shownOptions) list(widths []decisions.Width) strictjson.Value {
	b := []byte{'['}
	item := func(v strictjson.Value) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	if !slices.ContainsFunc(s.options, func(o option) bool { return o.Kind == acp.AllowAlways }) {
		widths = nil // an agent that offers no "always" has its reasons
	}
	for _, o := range s.options {
		if o.Kind != acp.AllowAlways {
			item(o.raw)
		}
		if o.ID != s.once {
			continue
		}
		for _, w := range widths {
			id := widthID + w.ID
			s.widths[id] = w.ID
			item(object(member("optionId", id), member("name", label(w)), member("kind", string(acp.AllowAlways))))
		}
	}
	return append(b, ']')
}

// label returns the text of a width: everything that it would save, and where that
// applies.
func label(w decisions.Width) string {
	rule := strings.ReplaceAll(strings.TrimSpace(w.Rule), "\n", "; ")
	name := "Always, " + w.Label
	switch {
	case rule == w.Label:
		name = "Always: " + rule
	case rule != "":
		name += ": " + rule
	}
	if w.Scope != "" {
		name += " (" + w.Scope + ")"
	}
	return name
}

// explain adds permd's reason for asking to what the client shows. It is left out if
// that would replace something else.
func (c *core) explain(t *trackedRequest, shape int, line strictjson.Value, why string) strictjson.Value {
	var value strictjson.Value
	at := []string{"params", "toolCall", "content"}
	if shape == 2 {
		at = []string{"params", "description"}
		switch own := strictjson.Find(t.params, "description"); strictjson.Kind(own) {
		case 0, 'n':
			value = quoted(nil, why)
		case '"':
			said, _ := strictjson.ParseString(own)
			if said != "" {
				why = said + "\n\n" + why
			}
			value = quoted(nil, why)
		default:
			return line
		}
	} else {
		var ok bool
		if value, ok = c.content(t, why); !ok {
			return line
		}
	}
	if more, ok := put(line, value, at...); ok {
		return more
	}
	return line
}

// content returns the content of the call with a text added; false if what the client
// shows of the call is not known, since content in a request replaces it.
func (c *core) content(t *trackedRequest, why string) (strictjson.Value, bool) {
	items, ok := c.contents.shownContent(t.session, t.call, strictjson.Find(t.params, "toolCall", "content"))
	if !ok {
		return nil, false
	}
	b := []byte{'['}
	for _, i := range items {
		b = append(append(b, i...), ',')
	}
	says := object(member("type", "text"), member("text", why))
	b = append(b, object(member("type", "content"), strictjson.Member{Name: "content", Value: says})...)
	return append(b, ']'), true
}
