package native

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/fairshare"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// sessionParams declare a session (docs/protocol.md).
type sessionParams struct {
	SessionID string         `json:"sessionId"`
	Cwd       string         `json:"cwd"`
	Roots     []string       `json:"roots"`
	Parent    string         `json:"parent"`
	Agent     *effects.Party `json:"agent"`
	Client    *effects.Party `json:"client"`
	Mode      string         `json:"mode"`
	// Harness makes the session one that outlives the connection (see PersistentSessions).
	Harness string `json:"harness"`
	// AtShell says that Cwd is where the agent's shell is now, and that no other state of
	// the shell persists between calls.
	AtShell bool `json:"atShell"`
	// ProtocolVersion is what client and agent negotiated (ACP: 1 or 2).
	ProtocolVersion *int `json:"protocolVersion"`
	// Changes asks for permd/changed.
	Changes bool `json:"changes"`
	// Tools are what the client says of its agent's own tools (see declareTools).
	Tools []toolDeclaration `json:"tools"`
}

// maxProtocolVersion is the newest version of an agents' protocol that permd
// reads.
const maxProtocolVersion = 2

// session declares a session. The declaration applies from here on, also to messages
// that the client sent before it read the answer.
func (h *handler) session(c *socket.Conn, params strictjson.Value) (run, error) {
	var p sessionParams
	if err := socket.ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	if p.Cwd == "" {
		return nil, socket.Refuse("cwd is missing")
	}
	for _, path := range append([]string{p.Cwd}, p.Roots...) {
		if path == "" || strings.ContainsRune(path, 0) {
			return nil, socket.Refuse("cwd and roots must be absolute paths")
		}
	}
	version := 0
	if p.ProtocolVersion != nil {
		if version = *p.ProtocolVersion; version < 1 || version > maxProtocolVersion {
			return nil, socket.Refuse("protocolVersion must be 1 to %d", maxProtocolVersion)
		}
	}
	d := decisions.Declaration{ProtocolVersion: version, ID: p.SessionID, Cwd: p.Cwd, Roots: p.Roots, Parent: p.Parent, Mode: p.Mode, OneRequest: c.OneRequest}
	if p.Agent != nil {
		d.Agent = *p.Agent
	}
	if p.Client != nil {
		d.Client = *p.Client
	}
	owner := c.Owner()
	at, err := h.declaredSession(c, &p)
	if err != nil {
		return nil, err
	}
	fix, err := h.declareTools(c, &p, &d, at.tree)
	if err != nil {
		return nil, err
	}
	switch {
	case at.tree != nil:
		owner, d.OneRequest = at.tree.owner, false
	case slices.ContainsFunc(StateOf(c).usesID, func(is func(string) bool) bool { return is(p.SessionID) }):
		return nil, socket.Refuse("sessionId is the id of a thread on this connection: give the session another one")
	}
	if !StateOf(c).reserveSession(p.SessionID, len(params)) {
		return nil, &socket.Error{Code: socket.CodeBusy, Message: "this connection uses too much memory; ask the person"}
	}
	EndWith(c, h.Deps)
	ses, err := h.Sessions.Declare(owner, d)
	if _, known := StateOf(c).declared[p.SessionID]; err != nil && !known {
		StateOf(c).releaseSession(p.SessionID)
	}
	switch {
	case errors.Is(err, decisions.ErrSessions):
		if at.tree != nil {
			h.Sessions.Disconnect(owner) // the next call starts over
		}
		return nil, tooMany(err)
	case err != nil:
		return nil, socket.Refuse("declaring the session: %v", err)
	}
	fix()
	if p.Changes && h.Changes != nil {
		h.Changes.watch(c)
	}
	at.session = ses
	state := StateOf(c)
	_, again := state.declared[ses.ID]
	if state.declared[ses.ID] = at; !again {
		state.declare(ses.ID)
	}
	return func(ctx context.Context) (any, error) {
		if h.Prepare != nil {
			// Reading a project's rules may wait for a file system, or for other projects.
			fairshare.TurnOf(ctx).Await(ctx, func() { h.Prepare(ctx, owner.UID, ses.Project) })
		}
		return hello(h.methods, h.Deps), nil
	}, nil
}

// EndWith ends the sessions of a connection, and the choices for them, when it closes.
// It must only be called from a method; repeated calls have no effect.
func EndWith(c *socket.Conn, deps Deps) {
	own := c.Owner()
	StateOf(c).disconnect(c, func() {
		deps.Sessions.Disconnect(own)
		if deps.Keeper != nil {
			deps.Keeper.EndConnection(own)
		}
	})
}

type closeParams struct {
	SessionID string `json:"sessionId"`
}

type closeResult struct {
	Closed bool `json:"closed"`
}

// close ends a session of this connection, with its open questions.
func (h *handler) close(c *socket.Conn, params strictjson.Value) (run, error) {
	var p closeParams
	if err := socket.ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	if p.SessionID == "" {
		return nil, socket.Refuse("sessionId is missing")
	}
	owner := StateOf(c).owner(c, p.SessionID)
	if h.Persistent != nil && owner != c.Owner() {
		h.Persistent.removeQuestions(owner, p.SessionID)
	}
	closed := h.Sessions.Close(owner, p.SessionID)
	StateOf(c).end(p.SessionID)
	if closed && h.Keeper != nil {
		// This must happen here, or a session that is declared again would begin with the
		// choices of the old one.
		h.Keeper.EndSession(owner, p.SessionID)
	}
	return answer(closeResult{closed}), nil
}
