package tools

import (
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
)

// replyTo adds the effect of sending the call's result to the address that the caller
// names. An allow of the use includes it, as it includes the hosts in the arguments. This
// machine, link-local addresses and the services at which clouds hand out credentials need
// an allow of their own, which no shipped rule gives: whoever names the address would have
// the tool's server send a request there.
func (t *tool) replyTo() {
	if t.Call.ReplyTo == "" {
		return
	}
	e := t.Paths.Connect(t.Call.ReplyTo, effects.MethodSend, "callback_url")
	switch {
	case e.Connect == nil:
	case t.use < 0 || paths.Special(e.Connect.Host):
		e.Claimed = true
	default:
		e.Via = &effects.Via{Effect: t.use, Arg: effects.Inherent}
	}
	t.Add(e)
}
