package native

import (
	"context"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// methodDenied says which tools are denied whatever they are called with.
const methodDenied = "permd/denied"

// deniedParams are the params of permd/denied.
type deniedParams struct {
	SessionID string           `json:"sessionId"`
	Tools     []deniedToolWire `json:"tools"`
}

type deniedToolWire struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	Source string `json:"source"`
}

type deniedResult struct {
	// Denied has one element for each tool, in order.
	Denied []bool `json:"denied"`
}

// denied handles permd/denied. It is no decision: a call of such a tool is decided, and denied,
// when it is made.
func (h *handler) denied(c *socket.Conn, params strictjson.Value) (run, error) {
	var p deniedParams
	if err := socket.ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	if len(p.Tools) == 0 || len(p.Tools) > maxCalls {
		return nil, socket.Refuse("tools must hold 1 to %d tools", maxCalls)
	}
	var ses *decisions.Session
	if p.SessionID != "" {
		if ses = h.Sessions.Get(StateOf(c).owner(c, p.SessionID), p.SessionID); ses == nil {
			return nil, socket.Refuse("the session of sessionId is not declared on this connection")
		}
		if own := StateOf(c).declared[p.SessionID]; own.tree != nil {
			ses = own.session
		}
	}
	reqs := make([]*decisions.Request, len(p.Tools))
	for i, t := range p.Tools {
		switch {
		case t.Name == "" || t.Server == "":
			return nil, socket.Refuse("tools[%d].name or server is missing", i)
		case len(t.Name) > socket.MaxName || len(t.Server) > maxServer || len(t.Source) > maxServer:
			return nil, socket.Refuse("tools[%d]: a name is longer than %d bytes", i, socket.MaxName)
		}
		w := callWire{CallID: "1", Tool: toolWire{Name: t.Name, Server: t.Server, Source: t.Source}}
		reqs[i] = w.request(ses)
	}
	return func(ctx context.Context) (any, error) {
		user := h.Users(reqs[0].Peer.UID)
		for _, r := range reqs {
			r.Call.User = user
		}
		denied := make([]bool, len(reqs))
		if h.NeverAllowed != nil {
			copy(denied, h.NeverAllowed(ctx, reqs...))
		}
		return deniedResult{denied}, nil
	}, nil
}
