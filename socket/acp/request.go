package acp

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// request is one session/request_permission.
type request struct {
	sessionID string
	version   version
	call      *patch   // nil when the request names no tool call
	command   *command // of version 2
	prompt    string   // of version 2: what the person is asked
	noSubject string   // of version 2: why it is not known what would happen
	options   []Option
	kinds     []string         // of the options, each once
	meta      strictjson.Value // of the params, apart from the call's own
	defects   []effects.Defect // of the params
	extra     bool             // the params have members besides those that version 1 requires
}

// requestMembers are the names of a request's members, in both versions.
var requestMembers = []string{"sessionId", "toolCall", "options", "_meta", "subject", "title", "description"}

// parseRequest reads the params of session/request_permission, whose shape determines
// their version. Session, call id and options are read strictly; other malformed parts
// are left out with a defect.
// known are the options of the connection.
func parseRequest(params strictjson.Value, known *knownOptions) (*request, error) {
	o, err := object(params, "params", requestMembers...)
	if err != nil {
		return nil, err
	}
	r := &request{extra: hasExtra(o, "sessionId", "toolCall", "options")}
	if r.version, err = shapeOf(o); err != nil {
		return nil, err
	}
	if r.sessionID, err = identifier(o, "sessionId", ""); err != nil {
		return nil, err
	}
	l := &lenient{version: r.version}
	if r.version == version1 {
		v, _ := o.Get("toolCall")
		r.call, err = parseToolCall(v, "toolCall", version1)
	} else {
		err = r.parsePrompt(l, o)
	}
	if err != nil {
		return nil, err
	}
	if r.options, r.kinds, err = known.parse(o, r.version); err != nil {
		return nil, err
	}
	r.meta = l.meta(o, "params._meta")
	r.defects = l.defects
	return r, nil
}

// shapeOf returns the version of a request. Version 1 needs a toolCall next to the
// session, version 2 a title and, if it is about something, a subject. A request with
// the members of both is ambiguous.
func shapeOf(o strictjson.Object) (version, error) {
	_, call := o.Get("toolCall")
	_, title := o.Get("title")
	_, subject := o.Get("subject")
	switch {
	case call && (title || subject):
		return 0, socket.Refuse("toolCall is of protocol version 1, title and subject are of version 2: this request has both")
	case call:
		return version1, nil
	case title || subject:
		return version2, nil
	}
	return 0, socket.Refuse("toolCall is missing")
}

// mergeMeta merges the two _meta objects of a request: the members of the call's own,
// and those of the request that it lacks.
func mergeMeta(call, request strictjson.Value) (strictjson.Value, *effects.Defect) {
	if call == nil || request == nil {
		if call == nil {
			return request, nil
		}
		return call, nil
	}
	mine, err := strictjson.ParseObject(call)
	if err != nil {
		return nil, unreadMeta()
	}
	more, err := strictjson.ParseObject(request)
	if err != nil {
		return nil, unreadMeta()
	}
	var defect *effects.Defect
	for _, m := range more {
		switch v, ok := mine.Get(m.Name); {
		case !ok:
			mine = append(mine, m)
		case !bytes.Equal(v, m.Value):
			defect = &effects.Defect{
				Code: effects.DefectContradiction, At: "_meta",
				Text: "a member of _meta differs between the tool call and the request",
			}
		}
	}
	var b bytes.Buffer
	enc := jsontext.NewEncoder(&b)
	_ = enc.WriteToken(jsontext.BeginObject) // writing to a buffer cannot fail
	for _, m := range mine {
		if err := enc.WriteToken(jsontext.String(m.Name)); err != nil {
			return nil, unreadMeta()
		}
		if err := enc.WriteValue(m.Value); err != nil {
			return nil, unreadMeta()
		}
	}
	_ = enc.WriteToken(jsontext.EndObject)
	return bytes.TrimSpace(b.Bytes()), defect
}

func unreadMeta() *effects.Defect {
	return &effects.Defect{Code: effects.DefectDropped, At: "_meta", Text: "_meta could not be read and was left out"}
}

// assemble builds the call from the merged tool call and the request. The caller adds
// session, agent and person.
func (r *request) assemble(t *toolCall) effects.Call {
	call := effects.Call{
		ID:       t.id,
		Protocol: protocol,
		Tool:     effects.Tool{Name: t.name},
		Input:    t.input,
		Claims: effects.Claims{
			Kind: t.kind, Title: t.title, Prompt: r.prompt, Locations: t.locations, Diffs: t.diffs, Texts: t.texts,
			Status: t.status, Options: r.kinds,
			Only: r.version == version1 && !t.extra, Retracted: t.retracted,
		},
	}
	for _, list := range [][]effects.Defect{t.defects, r.defects} {
		for _, d := range list {
			call.Defects = addDefect(call.Defects, d)
		}
	}
	var d *effects.Defect
	if call.Claims.Meta, d = mergeMeta(t.meta, r.meta); d != nil {
		call.Defects = addDefect(call.Defects, *d)
	}
	for _, d := range nameTool(&call) {
		call.Defects = addDefect(call.Defects, d)
	}
	if r.command != nil {
		r.command.take(&call)
	}
	if t.other != nil {
		said := request{version: r.version, meta: r.meta}
		announced := said.assemble(&toolCall{id: t.id, facts: *t.other})
		call.Announced = &announced
	}
	if call.Incomplete = r.noSubject; call.Incomplete == "" {
		call.Incomplete = whyIncomplete(t, &call)
	}
	return call
}

// nameTool completes the tool's identity from _meta, where Claude's adapter
// names the tool and the server it belongs to.
func nameTool(call *effects.Call) (defects []effects.Defect) {
	if call.Claims.Meta == nil {
		return nil
	}
	meta, err := strictjson.ParseObject(call.Claims.Meta)
	if err != nil {
		return []effects.Defect{*unreadMeta()}
	}
	if meta.NearMiss("claudeCode", "codex", "jetbrains") != "" {
		defects = append(defects, nearMiss("_meta"))
	}
	claude, _ := meta.Get("claudeCode")
	o, err := strictjson.ParseObject(orEmpty(claude))
	if err != nil {
		return defects
	}
	if o.NearMiss("toolName", "mcpServer", "parentToolUseId") != "" {
		defects = append(defects, nearMiss("_meta.claudeCode"))
	}
	switch name := text(claude, "toolName"); {
	case name == "" || name == call.Tool.Name:
	case call.Tool.Name == "":
		call.Tool.Name = name
	default:
		defects = append(defects, effects.Defect{
			Code: effects.DefectContradiction, At: "name",
			Text: "name and _meta.claudeCode.toolName name two tools",
		})
	}
	server := member(claude, "mcpServer")
	call.Tool.Server, call.Tool.Source = text(server, "name"), text(server, "source")
	return defects
}

func nearMiss(at string) effects.Defect {
	return effects.Defect{
		Code: effects.DefectNearMiss, At: at,
		Text: at + " has a member whose name differs from a known one only by case",
	}
}

// whyIncomplete returns what is missing of the call that the request is about; "" if it
// has what its agent always sends, however little that is.
func whyIncomplete(t *toolCall, call *effects.Call) string {
	if t.missing != "" {
		return t.missing
	}
	paths := len(t.locations) > 0 || len(t.diffs) > 0
	switch {
	case call.InputFrom != "":
		return "" // the subject is complete in itself
	case t.input == nil && !paths && call.Tool.Name == "" && t.title == "" && len(t.texts) == 0:
		return "nothing was said of the call before, and the request only names it"
	case call.Tool.Name != "" || paths:
		return ""
	case t.input != nil && isEmpty(t.input):
		return "the tool's input is empty; it may still be on its way"
	case t.input == nil && (t.kind == "" || t.kind == "other") && !namedByID(t.id):
		return "the tool's input was never sent, and nothing says what kind of call it is"
	}
	return ""
}

// namedByID reports whether a call's id has the form TOOL__id that Gemini's
// agents give it; they never send an input.
func namedByID(id string) bool {
	tool, rest, ok := bytes.Cut([]byte(id), []byte("__"))
	return ok && len(tool) > 0 && len(rest) > 0
}

// isEmpty reports whether a value is empty: {}, [] or "".
func isEmpty(v strictjson.Value) bool {
	switch strictjson.Kind(v) {
	case '{':
		o, err := strictjson.ParseObject(v)
		return err == nil && len(o) == 0
	case '[':
		items, err := strictjson.ParseArray(v)
		return err == nil && len(items) == 0
	case '"':
		s, ok := strictjson.ParseString(v)
		return ok && s == ""
	}
	return false
}

// member returns a member of an object, found by a path of names; nil if one is missing.
func member(v strictjson.Value, names ...string) strictjson.Value {
	return strictjson.Find(v, names...)
}

// text returns a member that is a string, "" for everything else.
func text(v strictjson.Value, names ...string) string {
	s, _ := strictjson.ParseString(member(v, names...))
	return s
}

func orEmpty(v strictjson.Value) strictjson.Value {
	if strictjson.Kind(v) != '{' {
		return strictjson.Value("{}")
	}
	return v
}
