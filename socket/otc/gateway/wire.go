package gateway

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket/otc"
)

// The version of the protocol, and the names by which messages say it.
const (
	oxpVersion = "1.0"
	schemaURN  = "urn:oxp:1.0"
	schemaPath = "/spec/http/1.0/"
)

// call is one call as the caller sent it. What is in it is all that is passed on.
type call struct {
	enveloped bool
	schema    string // "" for none

	toolID, toolkit, name, version string
	id, trace                      string
	input                          strictjson.Value // nil for none
	from                           string           // input or inputs
	grants, secrets                []credential
	user                           string
}

// credential is one that the caller brings.
type credential struct{ id, value string }

func parseTool(id string) (toolkit, name, version string, ok bool) { return otc.ParseTool(id) }

// readCall reads the body of a call. A member that the protocol does not have is refused,
// since it would be passed on without being decided. why is for the caller, "" if it was read.
func readCall(body []byte) (c *call, why string) {
	if err := strictjson.Check(body); err != nil {
		return nil, "The body is not JSON that can be read in one way"
	}
	o, err := strictjson.ParseObject(body)
	if err != nil {
		return nil, "The body must be an object"
	}
	c = new(call)
	if v, ok := o.Get("$schema"); ok {
		if c.schema, ok = strictjson.ParseString(v); !ok || !knownSchema(c.schema) {
			return nil, "This version of the protocol is not supported: $schema must be " + schemaURN
		}
	}
	o = slices.DeleteFunc(o, func(m strictjson.Member) bool { return m.Name == "$schema" })
	if inner, ok := o.Get("request"); ok {
		if len(o) != 1 {
			return nil, "The body has members besides request and $schema"
		}
		if o, err = strictjson.ParseObject(inner); err != nil {
			return nil, "request must be an object"
		}
		c.enveloped = true
	}
	for _, m := range o {
		if why = c.read(m); why != "" {
			return nil, why
		}
	}
	var ok bool
	if c.toolkit, c.name, c.version, ok = parseTool(c.toolID); !ok {
		return nil, "tool_id must be Toolkit.Tool, Toolkit.Tool@x or Toolkit.Tool@x.y.z"
	}
	return c, ""
}

func knownSchema(s string) bool {
	return s == schemaURN || strings.HasPrefix(s, "https://") && strings.Contains(s, schemaPath) && len(s) <= maxName
}

// read reads one member of a call.
func (c *call) read(m strictjson.Member) (why string) {
	text := func(to *string, least int) string {
		var ok bool
		if *to, ok = strictjson.ParseString(m.Value); !ok || len(*to) > maxName || len(*to) < least {
			return m.Name + " must be a text of at most 1024 bytes"
		}
		return ""
	}
	switch m.Name {
	case "tool_id":
		return text(&c.toolID, 1)
	case "call_id":
		return text(&c.id, 1)
	case "trace_id":
		return text(&c.trace, 0)
	case "input", "inputs":
		if c.from != "" {
			return "The call has input and inputs"
		}
		if c.from, c.input = m.Name, m.Value; strictjson.Kind(m.Value) != '{' {
			return m.Name + " must be an object"
		}
		return ""
	case "context":
		return c.readContext(m.Value)
	}
	return "The call has a member that the protocol does not have"
}

func (c *call) readContext(v strictjson.Value) (why string) {
	o, err := strictjson.ParseObject(v)
	if err != nil {
		return "context must be an object"
	}
	for _, m := range o {
		var ok bool
		switch m.Name {
		case "user_id":
			if c.user, ok = strictjson.ParseString(m.Value); !ok || len(c.user) > maxName {
				return "context.user_id must be a text of at most 1024 bytes"
			}
		case "authorization":
			c.grants, ok = readGiven(m.Value, "token")
		case "secrets":
			c.secrets, ok = readGiven(m.Value, "value")
		default:
			return "context has a member that the protocol does not have"
		}
		if !ok {
			return "context." + m.Name + " must be a list of at most 64 different objects with their two texts"
		}
	}
	return ""
}

func readGiven(v strictjson.Value, member string) (list []credential, ok bool) {
	items, err := strictjson.ParseArray(v)
	if err != nil || len(items) > maxEach {
		return nil, false
	}
	for _, item := range items {
		o, err := strictjson.ParseObject(item)
		if err != nil || len(o) != 2 {
			return nil, false
		}
		var g credential
		id, _ := o.Get("id")
		value, _ := o.Get(member)
		var has bool
		g.id, ok = strictjson.ParseString(id)
		g.value, has = strictjson.ParseString(value)
		if !ok || !has || g.id == "" || len(g.id) > maxName || slices.ContainsFunc(list, func(o credential) bool { return o.id == g.id }) {
			return nil, false
		}
		list = append(list, g)
	}
	return list, true
}

// sum is a digest of all that makes another call of this one: a trace does not.
func (c *call) sum() [32]byte {
	o := map[string]any{"tool": c.toolkit + "." + c.name + "@" + c.version, "user": c.user, "input": digestText(c.input)}
	for _, g := range c.grants {
		o["grant "+g.id] = g.value
	}
	for _, g := range c.secrets {
		o["secret "+g.id] = g.value
	}
	return otc.Digest(marshal(o))
}

func digestText(v strictjson.Value) string {
	d := otc.Digest(v)
	return "sha256-" + hex.EncodeToString(d[:])
}

// marshal writes a value that holds only what JSON has.
func marshal(v any) strictjson.Value {
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return strictjson.Value("null")
	}
	return text
}

// response is an answer in the protocol's words.
type response struct {
	status int
	body   strictjson.Value // a CallToolResponse for 200, otherwise an error
	// upstream is set for the answer of a tool server, which may be written like one of permd's.
	upstream bool
}

// Who gives an answer. Callers are told in a header and at the beginning of each
// developer_message, neither of which an upstream can write.
const (
	headerSource = "Permd-Answer"
	ownSource    = "permd"
	theirSource  = "tool server"
)

// source returns who gives the answer.
func (r *response) source() string {
	if r.upstream {
		return theirSource
	}
	return ownSource
}

// fromSource returns a text for developers that begins with who gives it.
func fromSource(source, text string) string {
	if text == "" {
		return source
	}
	return source + ": " + text
}

// errorBody is a ServerErrorResponse, or a ValidationErrorResponse.
type errorBody struct {
	Message    string           `json:"message"`
	Developer  string           `json:"developer_message,omitzero"`
	Missing    strictjson.Value `json:"missing_requirements,omitzero"`
	Parameters strictjson.Value `json:"parameter_errors,omitzero"`
}

func refusal(message, developer string) *response {
	return &response{status: 400, body: marshal(errorBody{Message: message, Developer: fromSource(ownSource, developer)})}
}

// failure is the result of a call of which it is not known whether it ran.
func failure(id, message, developer string) *response {
	return &response{status: 200, body: marshal(struct {
		ID      string `json:"call_id"`
		Success bool   `json:"success"`
		Error   any    `json:"error"`
	}{id, false, struct {
		Message   string `json:"message"`
		Developer string `json:"developer_message"`
		Retry     bool   `json:"can_retry"`
	}{message, fromSource(ownSource, developer), false}})}
}

// wrapped returns the parts of the body in the form in which the caller sent the call. The body
// may be that of several answers.
func (r *response) wrapped(c *call) [][]byte {
	var head []byte
	if c != nil && c.schema != "" {
		head = append(append([]byte(`"$schema":`), marshal(c.schema)...), ',')
	}
	switch {
	case r.status == 200 && c.enveloped:
		return [][]byte{{'{'}, head, []byte(`"result":`), r.body, {'}'}}
	case r.status != 200 && head != nil:
		return [][]byte{{'{'}, head, r.body[1:]}
	}
	return [][]byte{r.body}
}

// forwarded returns the body for the upstream: what was decided, with the credentials.
func (c *call) forwarded(t *tool, id string, grants, secrets []credential, user string) []byte {
	entries := func(list []credential, member string) (out []map[string]string) {
		for _, g := range list {
			out = append(out, map[string]string{"id": g.id, member: g.value})
		}
		return out
	}
	context := map[string]any{}
	if grants != nil {
		context["authorization"] = entries(grants, "token")
	}
	if secrets != nil {
		context["secrets"] = entries(secrets, "value")
	}
	if user != "" {
		context["user_id"] = user
	}
	o := map[string]any{"tool_id": t.id, "call_id": id}
	if c.trace != "" {
		o["trace_id"] = c.trace
	}
	if c.input != nil {
		o[c.from] = c.input
	}
	if len(context) > 0 {
		o["context"] = context
	}
	if !c.enveloped {
		return marshal(o)
	}
	outer := map[string]any{"request": o}
	if c.schema != "" {
		outer["$schema"] = c.schema
	}
	return marshal(outer)
}

// readResult reads the answer of an upstream with status 200 to the call with that id. It is
// written anew with the members that the protocol has; ok is false for anything else.
func readResult(body strictjson.Value, id string) (*response, bool) {
	if strictjson.Check(body) != nil {
		return nil, false
	}
	o, err := strictjson.ParseObject(body)
	if err != nil {
		return nil, false
	}
	if inner, ok := o.Get("result"); ok {
		if o, err = strictjson.ParseObject(inner); err != nil {
			return nil, false
		}
	}
	of, _ := o.Get("call_id")
	success, _ := o.Get("success")
	value, hasValue := o.Get("value")
	fault, hasFault := o.Get("error")
	failed := string(success) == "false"
	if s, ok := strictjson.ParseString(of); !ok || s != id || !failed && string(success) != "true" || failed != hasFault || failed && hasValue {
		return nil, false
	}
	said := map[string]any{"call_id": id, "success": !failed}
	if d, ok := o.Get("duration"); ok && strictjson.Kind(d) == '0' {
		said["duration"] = d
	}
	if hasValue {
		said["value"] = value
	}
	if failed {
		if said["error"] = members(fault, "message", "developer_message", "can_retry", "additional_prompt_content", "retry_after_ms"); said["error"] == nil {
			return nil, false
		}
	}
	return &response{200, marshal(said), true}, true
}

// readRefusal reads the answer of an upstream that did not call the tool.
func readRefusal(status int, body strictjson.Value) (*response, bool) {
	if status != 400 && status != 422 || strictjson.Check(body) != nil {
		return nil, false
	}
	said := members(body, "message", "developer_message", "missing_requirements", "parameter_errors")
	if said == nil {
		return nil, false
	}
	if missing, ok := said["missing_requirements"].(strictjson.Value); ok && posesAsPermd(missing) {
		return nil, false
	}
	return &response{status, marshal(said), true}, true
}

// posesAsPermd reports whether requirements hold a text that begins as the ids of permd's own
// challenges do: a caller would send the person to whoever the upstream names.
func posesAsPermd(v strictjson.Value) bool {
	switch strictjson.Kind(v) {
	case '{':
		o, err := strictjson.ParseObject(v)
		return err != nil || slices.ContainsFunc(o, func(m strictjson.Member) bool { return posesAsPermd(m.Value) })
	case '[':
		list, err := strictjson.ParseArray(v)
		return err != nil || slices.ContainsFunc(list, posesAsPermd)
	case '"':
		s, ok := strictjson.ParseString(v)
		return !ok || strings.HasPrefix(strings.ToLower(strings.TrimSpace(s)), otc.ApprovalPrefix)
	}
	return false
}

// members returns the named members of an object that has a message, nil for anything else. Its
// developer_message is marked as the tool server's.
func members(v strictjson.Value, names ...string) map[string]any {
	o, err := strictjson.ParseObject(v)
	if err != nil {
		return nil
	}
	message, _ := o.Get("message")
	if strictjson.Kind(message) != '"' {
		return nil
	}
	said := map[string]any{}
	for _, m := range o {
		if slices.Contains(names, m.Name) {
			said[m.Name] = m.Value
		}
	}
	developer, _ := o.Get("developer_message")
	text, _ := strictjson.ParseString(developer)
	said["developer_message"] = fromSource(theirSource, text)
	return said
}
