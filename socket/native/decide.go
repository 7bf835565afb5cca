package native

import (
	"context"
	"errors"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// Bounds of permd/decide.
const (
	maxCalls  = 64
	maxTitle  = 64 << 10 // bytes
	maxServer = socket.MaxName
)

// Protocol is the name of permd's own protocol in decisions.
const Protocol = "permd"

type decideParams struct {
	SessionID string     `json:"sessionId"`
	Calls     []callWire `json:"calls"`
}

type callWire struct {
	CallID string           `json:"callId"`
	Tool   toolWire         `json:"tool"`
	Input  strictjson.Value `json:"input" null:"absent"`
	Kind   string           `json:"kind"`
	Title  string           `json:"title"`
}

type toolWire struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	Source string `json:"source"`
	// Version is the one that is asked for, "" for the one that the server has.
	Version string `json:"version"`
	// Changed says that the tool is not what it was when a call of it last ran.
	Changed bool `json:"changed"`
}

// DecideResult is the answer of permd/decide: a decision for each call, in
// the order of the calls, whatever the verdicts are.
type DecideResult struct {
	Decisions []*decisions.Decision `json:"decisions"`
}

func (h *handler) decide(c *socket.Conn, params strictjson.Value) (run, error) {
	var p decideParams
	if err := socket.ReadParams("params", params, &p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
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
	owner := c.Owner()
	reqs := make([]*decisions.Request, len(p.Calls))
	for i := range p.Calls {
		reqs[i] = p.Calls[i].request(ses)
		reqs[i].Peer = c.Peer
	}
	state, request := StateOf(c), RequestKey(c.RequestID())
	at := state.declared[p.SessionID]
	shells := &state.Shells
	if at.tree != nil {
		shells = &at.tree.shells
	}
	return func(ctx context.Context) (any, error) {
		user := h.Users(reqs[0].Peer.UID)
		live := ses != nil && !at.atShell
		for _, r := range reqs {
			r.Call.User = user
			if live && (h.ShellStaysAlive(ses.Agent) || r.Call.Declared.RunsShell()) {
				shells.ApplyTo(ses.ID, &r.Call)
			}
		}
		decided, err := h.Decide(ctx, reqs...)
		if err != nil {
			return nil, err
		}
		for _, d := range decided {
			shells.Record(p.SessionID, d)
		}
		if errors.Is(context.Cause(ctx), socket.ErrWithdrawn) {
			return nil, ctx.Err() // nobody waits for the answers
		}
		for i, d := range decided {
			if at.tree != nil {
				h.Persistent.noteDecided(at.tree, reqs[i], d)
			}
			switch {
			case d.Verdict != decisions.Ask:
			case at.tree != nil:
				h.Persistent.addQuestion(at.tree, reqs[i], d)
				state.own.add(ownQuestion{d.ID, shells.decidedNow(p.SessionID, live)})
			default:
				state.Questions.Add(&PendingQuestion{ID: d.ID, SessionID: p.SessionID, RequestID: request, Offer: d.Offer, Resolve: selectVerdict, Again: shells.decidedNow(p.SessionID, live),
					Digest: d.Policy.Digest, Cwd: reqs[i].Call.Cwd, Decision: d, Request: reqs[i], Refresh: RefreshSession(h.Sessions, owner, p.SessionID)})
			}
		}
		return DecideResult{decided}, nil
	}, nil
}

// selectVerdict answers a question of permd/decide: the caller acts on the
// verdict itself, so there is nothing to send.
func selectVerdict(p Selection) (Resolution, error) {
	if p.OptionID != "" {
		return Resolution{}, errors.New("the request had no options; name a verdict")
	}
	return Resolution{Verdict: p.Verdict}, nil
}

// decidedNow is PendingQuestion.Again of permd/decide. live is set where the shell stays alive: a call
// that was decided as in the shell of then is not allowed in another one.
func (s *Shells) decidedNow(session string, live bool) func(*decisions.Decision) func(Selection) (Resolution, error) {
	same := s.Since(session)
	return func(d *decisions.Decision) func(Selection) (Resolution, error) {
		if d.Verdict == decisions.Allow && live && !same() {
			return nil
		}
		return selectVerdict
	}
}

func (p *decideParams) check() error {
	if len(p.Calls) == 0 || len(p.Calls) > maxCalls {
		return socket.Refuse("calls must hold 1 to %d calls", maxCalls)
	}
	seen := make(map[string]bool, len(p.Calls))
	for i := range p.Calls {
		w := &p.Calls[i]
		switch {
		case w.CallID == "":
			return socket.Refuse("calls[%d].callId is missing", i)
		case seen[w.CallID]:
			return socket.Refuse("calls[%d].callId repeats an earlier one", i)
		case w.Tool.Name == "":
			return socket.Refuse("calls[%d].tool.name is missing", i)
		case len(w.CallID) > socket.MaxName || len(w.Tool.Name) > socket.MaxName || len(w.Tool.Server) > maxServer || len(w.Tool.Source) > maxServer || len(w.Tool.Version) > socket.MaxName || len(w.Kind) > socket.MaxName:
			return socket.Refuse("calls[%d]: an id or name is longer than %d bytes", i, socket.MaxName)
		case len(w.Title) > maxTitle:
			return socket.Refuse("calls[%d].title is longer than %d bytes", i, maxTitle)
		}
		seen[w.CallID] = true
	}
	return nil
}

// request makes the domain's request of a call.
func (w *callWire) request(ses *decisions.Session) *decisions.Request {
	call := effects.Call{
		ID:       w.CallID,
		Protocol: Protocol,
		Tool:     effects.Tool{Name: w.Tool.Name, Server: w.Tool.Server, Source: w.Tool.Source, Version: w.Tool.Version},
		Claims:   effects.Claims{Kind: w.Kind, Title: w.Title},
	}
	if k := strictjson.Kind(w.Input); k != 0 && k != 'n' {
		call.Input = w.Input
	}
	if w.Tool.Changed {
		call.Defects = append(call.Defects, effects.Defect{Code: effects.DefectChanged, At: "tool", Text: "the server describes this tool otherwise than when it last ran, or what it was then is not known"})
	}
	ses.Describe(&call)
	return &decisions.Request{Call: call, Session: ses.Ref()}
}
