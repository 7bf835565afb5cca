package tools

import (
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
)

// replyTo adds the effect of sending the call's result to the address that the caller
// names. An allow of the use includes it, as it includes the hosts in the arguments, if its
// host is plainly public or plainly private. This machine, link-local addresses, the services
// at which clouds hand out credentials and whatever else is not certain need an allow of their
// own, which no shipped rule gives: otherwise a caller could make the tool's server send
// requests to them.
func (t *tool) replyTo() {
	if t.Call.ReplyTo == "" {
		return
	}
	m := t.current
	if m == nil && t.machine != nil {
		m = t.machine()
	}
	e := t.Paths.Connect(t.Call.ReplyTo, effects.MethodSend, "callback_url")
	switch {
	case e.Connect == nil:
	case t.use < 0 || !paths.IsOrdinary(e.Connect.Host, m):
		e.Claimed = true
	default:
		e.Via = &effects.Via{Effect: t.use, Arg: effects.Inherent}
	}
	t.Add(e)
}
