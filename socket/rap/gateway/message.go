package gateway

import (
	"crypto/sha256"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/gatehttp"
)

// callID identifies a call: ids are unique within a thread only.
type callID struct{ thread, id string }

// invocation is an invocation as far as the gateway itself reads it.
type invocation struct {
	callID
	members   strictjson.Object // those of the protocol
	second    strictjson.Value  // call_id, nil if there is none
	operation string            // "" if it cannot be read
	arguments strictjson.Value
	callback  *gatehttp.Upstream
	path      string // of the callback address, with its query
	sum       [sha256.Size]byte
}

// The members of an invocation. All others are left out of what permd is asked, also those
// that permd itself adds to an invocation.
var invocationMembers = [...]string{
	"operation", "arguments", "id", "call_id", "callback_url", "group_id", "thread_ancestors", "user_id",
}

func bad(message string) *gatehttp.Refusal {
	return &gatehttp.Refusal{Status: http.StatusBadRequest, Code: "invocation", Message: message}
}

// readInvocation reads what it takes to answer an invocation: whose it is, and where the
// answer goes. permd judges the rest.
func (g *Gateway) readInvocation(body strictjson.Value) (*invocation, *gatehttp.Refusal) {
	o, err := strictjson.ParseObject(body)
	if err != nil {
		return nil, bad("an invocation must be an object")
	}
	if o.NearMiss(invocationMembers[:]...) != "" {
		return nil, bad("a member differs from one of the protocol only by case")
	}
	in := &invocation{sum: sha256.Sum256(body)}
	for _, m := range o {
		if slices.Contains(invocationMembers[:], m.Name) {
			m.Value = m.Value.Clone()
			in.members = append(in.members, m)
		}
	}
	text := func(name string) string {
		v, _ := in.members.Get(name)
		s, _ := strictjson.ParseString(v)
		return s
	}
	in.thread, in.id, in.operation = text("group_id"), text("id"), text("operation")
	in.arguments, _ = in.members.Get("arguments")
	in.second, _ = in.members.Get("call_id")
	switch k := strictjson.Kind(in.second); {
	case socket.CheckName("group_id", in.thread) != nil || socket.CheckName("id", in.id) != nil:
		return nil, bad("id and group_id must be text of 1 to 1024 bytes")
	case in.second != nil && k != '"' && k != 'n' || len(in.second) > socket.MaxName:
		return nil, bad("call_id must be text of at most 1022 bytes, or null")
	}
	u, err := url.Parse(text("callback_url"))
	if err != nil || u.Host == "" || u.User != nil {
		return nil, bad("callback_url must be an address without a user")
	}
	if in.callback = g.callbacks[originOf(u)]; in.callback == nil {
		return nil, &gatehttp.Refusal{Status: http.StatusForbidden, Code: "callback", Message: "callback_url is none of the addresses that the gateway may send results to"}
	}
	if in.path = u.EscapedPath(); u.RawQuery != "" {
		in.path += "?" + u.RawQuery
	}
	if in.path != "" && !strings.HasPrefix(in.path, "/") {
		in.path = "/" + in.path
	}
	return in, nil
}

// params are the params of rap/invoke: the members as they were sent, with the toolset and
// the session.
func (in *invocation) params(toolset strictjson.Value, session string) (strictjson.Value, error) {
	id, err := json.Marshal(session)
	if err != nil {
		return nil, err
	}
	b := append([]byte(`{"sessionId":`), id...)
	b = append(append(b, `,"toolset":`...), toolset...)
	for _, m := range in.members {
		name, err := json.Marshal(m.Name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(append(b, ','), name...), ':'), m.Value...)
	}
	return oneLine(append(b, '}')), nil
}

// oneLine replaces line breaks between tokens: within strings JSON has none.
func oneLine(b []byte) strictjson.Value {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			b[i] = ' '
		}
	}
	return b
}

// callRef are the bodies of notifications and queries about a call or a thread.
type callRef struct {
	ThreadID   string `json:"thread_id"`
	ToolCallID string `json:"tool_call_id"`
}

func readRef(body strictjson.Value, call bool) (callRef, *gatehttp.Refusal) {
	var r callRef
	if strictjson.Unmarshal(body, &r) != nil || socket.CheckName("thread_id", r.ThreadID) != nil || call && socket.CheckName("tool_call_id", r.ToolCallID) != nil {
		return r, bad("thread_id and tool_call_id must be text of 1 to 1024 bytes")
	}
	return r, nil
}
