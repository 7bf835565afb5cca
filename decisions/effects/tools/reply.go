package tools

import (
	"net/netip"

	"github.com/permd/permd/decisions/effects"
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
	case t.use < 0 || e.Tags.Has(effects.Loopback) || e.Tags.Has(effects.MetadataService) || special(e.Connect.Host, e.Tags):
		e.Claimed = true
	default:
		e.Via = &effects.Via{Effect: t.use, Arg: effects.Inherent}
	}
	t.Add(e)
}

// special reports whether a canonical host is a link-local address, or one of IPv6 that may
// stand for an address of IPv4 of that kind.
func special(host string, tags effects.Tags) bool {
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return false
	case ip.Is6() && tags.Has(effects.Private) && !ip.IsPrivate():
		return true
	}
	return ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast()
}
