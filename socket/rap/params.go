package rap

import (
	"crypto/sha256"
	"encoding/binary"
	"net/url"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/internal/toolschema"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/toolserver"
)

// invokeParams is an invocation as the protocol defines it, with permd's own members.
// Members that are not listed in these types are not read: descriptions, scripts.
type invokeParams struct {
	SessionID string       `json:"sessionId"`
	Toolset   *toolsetWire `json:"toolset"`
	Width     string       `json:"width"`

	Operation       string           `json:"operation"`
	Arguments       strictjson.Value `json:"arguments" null:"absent"`
	ID              string           `json:"id"`
	CallID          strictjson.Value `json:"call_id" null:"absent"`
	GroupID         string           `json:"group_id"`
	ThreadAncestors []string         `json:"thread_ancestors" null:"absent"`
	UserID          string           `json:"user_id" null:"absent"`
	CallbackURL     *string          `json:"callback_url"` // may hold a secret: only its host is kept
}

type toolsetWire struct {
	Name     string     `json:"name"`
	Endpoint string     `json:"endpoint"`
	Tools    []toolWire `json:"tools"` // nil if the member is missing
}

type toolWire struct {
	Name        string           `json:"name"`
	InputSchema strictjson.Value `json:"inputSchema" null:"absent"`
	Annotations annotationsWire  `json:"annotations"`
}

// annotationsWire holds the tool server's claims about its tool. The claims that would
// make a call look harmless are checked for their type and not used.
type annotationsWire struct {
	ReadOnly     bool   `json:"readOnly"`
	Destructive  bool   `json:"destructive"`
	Idempotent   bool   `json:"idempotent"`
	LongRunning  bool   `json:"longRunning"`
	RequiresAuth string `json:"requiresAuth"`
}

// invocation is a parsed invocation.
type invocation struct {
	*invokeParams
	source string // the address of the toolset
	// replyTo is scheme and host of the callback address, "" if there is none.
	replyTo string
	tool    *toolWire // the operation's description in the toolset, nil if there is none
	// threads are the ids of the threads from the root to the call's own.
	threads []string
}

// readInvocation parses and validates params.
func readInvocation(params strictjson.Value) (*invocation, error) {
	in := &invocation{invokeParams: new(invokeParams)}
	if err := socket.ReadParams("params", params, in.invokeParams); err != nil {
		return nil, err
	}
	for _, n := range []struct{ what, name string }{
		{"operation", in.Operation}, {"id", in.ID}, {"group_id", in.GroupID},
	} {
		if err := socket.CheckName(n.what, n.name); err != nil {
			return nil, err
		}
	}
	if len(in.UserID) > socket.MaxName {
		return nil, socket.Refuse("user_id is longer than %d bytes", socket.MaxName)
	}
	if err := checkCallID(in.CallID); err != nil {
		return nil, err
	}
	if err := in.readCallback(); err != nil {
		return nil, err
	}
	if err := in.readThreads(); err != nil {
		return nil, err
	}
	return in, in.findTool()
}

// readCallback checks the callback address and sets replyTo. Nothing else is kept of the
// address: its path and its query may be secrets.
func (in *invocation) readCallback() error {
	if in.CallbackURL == nil {
		return nil
	}
	s := *in.CallbackURL
	in.CallbackURL = nil
	u, err := url.Parse(s)
	if err != nil || len(s) > maxCallback || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return socket.Refuse("callback_url must be an absolute http or https address of at most %d bytes", maxCallback)
	}
	_, rest, _ := strings.Cut(s, "://")
	end := strings.IndexAny(rest+"/", "/?#")
	path, _, _ := strings.Cut(rest[end:], "/")
	switch {
	case u.User != nil:
		return socket.Refuse("callback_url must hold no user and no password")
	case rest[:end] != u.Host || strings.ContainsAny(s, "\\ ") || strings.Contains(path, "@"):
		return socket.Refuse("callback_url can be read in two ways")
	}
	in.replyTo = u.Scheme + "://" + u.Host
	return nil
}

func checkCallID(id strictjson.Value) error {
	switch k := strictjson.Kind(id); {
	case k != 0 && k != 'n' && k != '"':
		return socket.Refuse("call_id must be text or null")
	case len(id) > socket.MaxName:
		return socket.Refuse("call_id is longer than %d bytes", socket.MaxName)
	}
	return nil
}

// readThreads sets threads from the ancestors and the call's own thread.
func (in *invocation) readThreads() error {
	if len(in.ThreadAncestors) > maxAncestors {
		return socket.Refuse("thread_ancestors holds more than %d threads", maxAncestors)
	}
	seen := map[string]bool{in.GroupID: true}
	for _, id := range in.ThreadAncestors {
		if err := socket.CheckName("a thread in thread_ancestors", id); err != nil {
			return err
		}
		if seen[id] {
			return socket.Refuse("thread_ancestors holds a thread twice, or that of group_id")
		}
		seen[id] = true
		in.threads = append(in.threads, id)
	}
	in.threads = append(in.threads, in.GroupID)
	return nil
}

// findTool sets source and tool from the toolset.
func (in *invocation) findTool() error {
	t := in.Toolset
	if t == nil {
		return nil
	}
	if err := socket.CheckName("toolset.name", t.Name); err != nil {
		return err
	}
	var err error
	if in.source, err = toolserver.Address(t.Endpoint); err != nil {
		return socket.Refuse("toolset.endpoint %v", err)
	}
	if len(t.Tools) > maxTools {
		return socket.Refuse("toolset.tools holds more than %d tools", maxTools)
	}
	for i := range t.Tools {
		tool := &t.Tools[i]
		switch {
		case tool.Name == "":
			return socket.Refuse("the name of a tool in toolset.tools is missing")
		case tool.Name != in.Operation:
		case in.tool != nil:
			return socket.Refuse("toolset.tools holds the operation twice")
		case len(tool.Annotations.RequiresAuth) > socket.MaxName:
			return socket.Refuse("an annotation is longer than %d bytes", socket.MaxName)
		default:
			in.tool = tool
		}
	}
	return nil
}

// check validates the invocation against its description in the toolset. invalid is the
// problem as text for the model, "" if there is none; defect is the same for the log. If
// validity cannot be determined, there is only a defect.
func (in *invocation) check(schemas *toolschema.Cache) (invalid string, defect *effects.Defect) {
	wrong := func(at, text string) *effects.Defect {
		return &effects.Defect{Code: effects.DefectContradiction, At: at, Text: text}
	}
	switch k := strictjson.Kind(in.Arguments); {
	case in.Toolset != nil && in.Toolset.Tools != nil && in.tool == nil:
		return "unknown operation", wrong("operation", "the toolset has no operation of this name")
	case k == 0:
		return "invalid arguments: they are missing", wrong("arguments", "the arguments are missing")
	case k != '{':
		return "invalid arguments: they must be an object", wrong("arguments", "the arguments are no object")
	case in.tool == nil || len(in.tool.InputSchema) == 0 || strictjson.Kind(in.tool.InputSchema) == 'n':
		return "", nil
	}
	problems, err := schemas.Check(in.tool.InputSchema, in.Arguments)
	switch {
	case err != nil:
		return "", &effects.Defect{Code: effects.DefectDropped, At: "toolset.tools.inputSchema", Text: err.Error()}
	case problems != nil:
		return "invalid arguments: " + toolschema.Sentence(problems), wrong("arguments", "the arguments do not fit the operation's schema")
	}
	return "", nil
}

// request returns the invocation as a request to the engine. The caller sets the peer,
// the session and the user.
func (in *invocation) request(ses *decisions.Session) *decisions.Request {
	call := effects.Call{
		ID: in.ID, Protocol: Protocol, Tool: effects.Tool{Name: in.Operation, Source: in.source},
		Input: in.Arguments, InputFrom: "arguments", ReplyTo: in.replyTo, Claims: effects.Claims{User: in.UserID},
	}
	if in.Toolset != nil {
		call.Tool.Server = in.Toolset.Name
	}
	if in.tool != nil {
		call.Tool.Destructive = in.tool.Annotations.Destructive
		if id := in.tool.Annotations.RequiresAuth; id != "" {
			call.Credentials.Authorizations = []effects.Authorization{{ID: id}}
		}
	}
	r := &decisions.Request{}
	if ses != nil {
		call.Agent, call.Client, call.Cwd, call.Roots = ses.Agent, ses.Client, ses.Cwd, ses.Roots
		r.Session.Mode = ses.Mode
	}
	r.Call = call
	return r
}

// callDigest returns a digest of everything that the call's id stands for: two calls
// with the same id and different digests are different calls.
func (in *invocation) callDigest() [sha256.Size]byte {
	b := make([]byte, 0, 4*binary.MaxVarintLen64+len(in.Operation)+len(in.source)+len(in.Arguments)+64)
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	text(in.Operation)
	text(in.source)
	text(in.replyTo)
	text(in.UserID)
	b = binary.AppendUvarint(b, uint64(len(in.Arguments)))
	b = append(b, in.Arguments...)
	if in.Toolset != nil {
		text(in.Toolset.Name)
	}
	return sha256.Sum256(b)
}
