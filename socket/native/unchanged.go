package native

import (
	"context"
	"slices"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
)

// A person takes time to answer. Meanwhile the rules may change, the session
// may move to another folder or mode, and the script, link or file that the
// call is about may be replaced. A yes applies to what the person was asked: if
// deciding again would not ask the same, it is refused and the client must ask
// about the call again. A no is always accepted.

// checkUnchanged refuses a yes to a question that would not be put the same way now. now is
// the request with the session of now, nil when nothing is kept of it.
func (h *handler) checkUnchanged(ctx context.Context, uid uint32, ask *PendingQuestion, now *decisions.Request, picked Resolution) error {
	if picked.Verdict != decisions.Allow && !picked.LetsAgentContinue {
		return nil
	}
	_, compares := h.Decider.(Reconsiderer) // what would be asked by other rules
	switch {
	case (!compares || ask.Again == nil || ask.Decision == nil || now == nil) && h.Rules != nil && h.Rules(uid, ask.Cwd) != ask.Digest:
		return socket.Refuse("the rules have changed since the question; ask again")
	case now == nil:
		return nil
	case !SameSession(now, ask.Request):
		return socket.Refuse("the session has changed since the question; ask again")
	case ask.Decision == nil:
		return nil
	case ask.Decision.Unsettled:
		return socket.Refuse("calls of the same request that come before this one may change what it does; ask again after them")
	}
	if err := h.Decider.Holds(ctx, now, ask.Decision); err != nil {
		return socket.Refuse("%v; ask again", err)
	}
	return nil
}

func (p *Resolution) stored(a Accepted) {
	if p.OnStored != nil {
		p.OnStored(a)
	}
}

// current is the request that the question is about with the session of now, nil when
// nothing is kept of it.
func (a *PendingQuestion) current() *decisions.Request {
	if a.Request == nil {
		return nil
	}
	r := *a.Request
	if a.Refresh != nil {
		a.Refresh(&r)
	}
	return &r
}

// lostSession reports whether the session of the question has ended or changed by now. An
// answer that was given elsewhere is compared after its question was closed: from then on the
// person, the client and the decision log are told the same, whatever happens to the session.
func (a *PendingQuestion) lostSession() bool {
	now := a.current()
	return now != nil && !SameSession(now, a.Request)
}

// RefreshSession returns what puts a declared session as it is by then into a request, nil
// for a request of no session.
func RefreshSession(sessions *decisions.Sessions, o decisions.Owner, id string) func(*decisions.Request) {
	if id == "" {
		return nil
	}
	return func(r *decisions.Request) {
		ses := sessions.Get(o, id)
		if ses == nil {
			ses = new(decisions.Session) // it has ended
		}
		ses.Describe(&r.Call)
		r.Session = ses.Ref()
	}
}

// SameSession reports whether two requests come from one session that is the same
// in all that a call may depend on.
func SameSession(a, b *decisions.Request) bool {
	c, d := &a.Call, &b.Call
	return c.Cwd == d.Cwd && slices.Equal(c.Roots, d.Roots) && c.Agent == d.Agent && c.Client == d.Client && c.Declared.Equal(d.Declared) &&
		a.Session.Conn == b.Session.Conn && a.Session.ID == b.Session.ID && a.Session.Mode == b.Session.Mode &&
		slices.Equal(a.Session.Ancestors, b.Session.Ancestors)
}
