package otc

import (
	"net/url"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/toolserver"
)

// paramsWire are permd's own members of the params. Members not in these types are not
// read.
type paramsWire struct {
	SessionID string           `json:"sessionId"`
	Endpoint  string           `json:"endpoint"`
	Tool      strictjson.Value `json:"tool"`
	Approval  *approval        `json:"approval"`
	Changed   bool             `json:"changed"`
	Schema    string           `json:"$schema"`
	Request   strictjson.Value `json:"request"`
}

// callWire is the CallToolRequest of the protocol.
type callWire struct {
	ToolID  string           `json:"tool_id"`
	CallID  string           `json:"call_id"`
	TraceID string           `json:"trace_id"`
	Input   strictjson.Value `json:"input" null:"absent"`
	Inputs  strictjson.Value `json:"inputs" null:"absent"`
	Context *contextWire     `json:"context"`
}

// contextWire holds the context of a call besides its input. Of a token or a value it has
// only whether there is one.
type contextWire struct {
	Authorization []tokenWire  `json:"authorization"`
	Secrets       []secretWire `json:"secrets"`
	UserID        string       `json:"user_id"`
}

type tokenWire struct {
	ID    string  `json:"id"`
	Token hasText `json:"token" null:"absent"`
}

type secretWire struct {
	ID    string  `json:"id"`
	Value hasText `json:"value" null:"absent"`
}

// hasText is whether a member holds a text that is not empty. The text is not kept.
type hasText bool

// UnmarshalJSON reads the kind of a value.
func (p *hasText) UnmarshalJSON(raw []byte) error {
	*p = strictjson.Kind(raw) == '"' && len(raw) > len(`""`)
	return nil
}

func (w tokenWire) name() string  { return w.ID }
func (w secretWire) name() string { return w.ID }

type secretName struct {
	ID string `json:"id"`
}

func (w secretName) name() string { return w.ID }

// approval is the address where a person can answer a question; {decisionId} in it is
// replaced.
type approval struct {
	URL      string `json:"url"`
	CheckURL string `json:"checkUrl"`
}

// callRequest is one otc/call request.
type callRequest struct {
	own  paramsWire
	call callWire

	tool     toolID
	endpoint string
	// input is nil if there is none; from is the member that holds it.
	input      strictjson.Value
	from       string
	definition *definition // nil if the caller sent none
}

// callNames are the members of a bare CallToolRequest.
var callNames = []string{"tool_id", "call_id", "trace_id", "input", "inputs", "context"}

// readParams reads the params. Errors contain only names.
func readParams(params strictjson.Value) (*callRequest, error) {
	a := new(callRequest)
	if err := socket.ReadParams("params", params, &a.own); err != nil {
		return nil, err
	}
	// In an envelope too, a near miss of a call's member is an error.
	if err := socket.ReadParams("params", params, &a.call); err != nil {
		return nil, err
	}
	if a.own.Request != nil {
		o, err := strictjson.ParseObject(params)
		if err != nil {
			return nil, socket.Refuse("reading params: not valid JSON")
		}
		for _, name := range callNames {
			if _, both := o.Get(name); both {
				return nil, socket.Refuse("the call must stand in request or beside it, not in both: %s", name)
			}
		}
		a.call = callWire{}
		if err := socket.ReadParams("request", a.own.Request, &a.call); err != nil {
			return nil, err
		}
	}
	return a, a.check()
}

func (a *callRequest) check() error {
	var ok bool
	var err error
	switch {
	case a.call.ToolID == "":
		return socket.Refuse("tool_id is missing")
	case len(a.call.CallID) > socket.MaxName || len(a.call.TraceID) > socket.MaxName || len(a.own.Schema) > socket.MaxName:
		return socket.Refuse("call_id, trace_id and $schema are at most %d bytes", socket.MaxName)
	}
	if a.tool, ok = parseToolID(a.call.ToolID); !ok {
		return socket.Refuse("tool_id must be Toolkit.Tool, Toolkit.Tool@x or Toolkit.Tool@x.y.z")
	}
	if a.endpoint, err = toolserver.Address(a.own.Endpoint); err != nil {
		return socket.Refuse("endpoint %v", err)
	}
	if err := a.own.Approval.check(); err != nil {
		return err
	}
	if c := a.call.Context; c != nil {
		if err := checkNames("context.authorization", c.Authorization); err != nil {
			return err
		}
		if err := checkNames("context.secrets", c.Secrets); err != nil {
			return err
		}
		if len(c.UserID) > socket.MaxName {
			return socket.Refuse("context.user_id is longer than %d bytes", socket.MaxName)
		}
	}
	if err := a.readInput(); err != nil {
		return err
	}
	if isPresent(a.own.Tool) {
		a.definition, err = readDefinition(a.own.Tool, a.tool)
	}
	return err
}

// readInput finds the input under either of its names.
func (a *callRequest) readInput() error {
	in, ins := a.call.Input, a.call.Inputs
	a.from = "input"
	switch {
	case in == nil && ins != nil:
		in, a.from = ins, "inputs"
	case in != nil && ins != nil && sumOf(in) != sumOf(ins):
		return socket.Refuse("input and inputs say different things")
	}
	if isPresent(in) {
		a.input = in
	}
	return nil
}

// isPresent reports whether a member is hasText and not null.
func isPresent(v strictjson.Value) bool {
	k := strictjson.Kind(v)
	return k != 0 && k != 'n'
}

func checkNames[T interface{ name() string }](what string, list []T) error {
	if len(list) > maxCredentials {
		return socket.Refuse("%s: more than %d", what, maxCredentials)
	}
	for i, n := range list {
		if name := n.name(); name == "" || len(name) > socket.MaxName {
			return socket.Refuse("%s[%d].id must be 1 to %d bytes", what, i, socket.MaxName)
		}
	}
	return nil
}

// idPlaceholder is the placeholder for the decision's id in an address.
const idPlaceholder = "{decisionId}"

func (p *approval) check() error {
	if p == nil {
		return nil
	}
	if !isApproval(p.URL) || p.CheckURL != "" && !isApproval(p.CheckURL) {
		return socket.Refuse("approval: url and checkUrl must be http or https addresses of at most %d bytes with %s in them", maxApproval, idPlaceholder)
	}
	return nil
}

func isApproval(s string) bool {
	u, err := url.Parse(strings.ReplaceAll(s, idPlaceholder, "id"))
	return err == nil && len(s) <= maxApproval && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") && strings.Contains(s, idPlaceholder)
}

// request converts the call to the domain's request.
func (a *callRequest) request(ses *decisions.Session) *decisions.Request {
	call := effects.Call{
		ID: a.call.CallID, Protocol: Protocol,
		Tool:  effects.Tool{Name: a.tool.name, Server: a.tool.toolkit, Source: a.endpoint, Version: a.tool.version},
		Input: a.input, InputFrom: a.from,
	}
	call.Claims.TraceID = a.call.TraceID
	if c := a.call.Context; c != nil {
		call.Claims.User = c.UserID
		for _, s := range c.Secrets {
			call.Credentials.Secrets = append(call.Credentials.Secrets, s.ID)
		}
		for i, s := range c.Authorization {
			if slices.ContainsFunc(c.Authorization[:i], func(o tokenWire) bool { return o.ID == s.ID }) {
				continue // each would repeat all the scopes
			}
			call.Credentials.Authorizations = append(call.Credentials.Authorizations, effects.Authorization{ID: s.ID, Scopes: a.definition.scopes(s.ID)})
		}
	}
	if a.own.Changed {
		mark(&call, effects.DefectChanged, "tool", "the server describes this tool otherwise than when it last ran, or what it was then is not known")
	}
	if ses != nil {
		call.Agent, call.Client, call.Cwd, call.Roots = ses.Agent, ses.Client, ses.Cwd, ses.Roots
	}
	return &decisions.Request{Call: call, Session: ses.Ref()}
}
