package doctor

import (
	"time"

	"github.com/permd/permd/cmd/permd/internal/daemon"
	"github.com/permd/permd/cmd/permd/internal/orgbundle"
)

// deliveries checks what the organisation's opa.yaml names: that it is in force, that the servers
// have answered, and that something good was taken from them.
func (x *examination) deliveries(s *daemon.Status) {
	c := s.Control
	if c == nil {
		return
	}
	if c.Problem != "" {
		x.Error("opa.yaml", "permd reload", "it is not in force as it is: %s", c.Problem)
	}
	if d := c.Discovery; d != nil {
		x.delivery("discovery", &orgbundle.Status{
			BundleStatus: d.BundleStatus, Revision: d.Revision, Expires: d.Expires, Expired: d.Expired, Kept: d.Kept,
		})
	}
	if s.Bundle != nil {
		x.delivery("bundle", s.Bundle)
	}
	if c.User != nil {
		x.delivery("user bundle", c.User)
	}
	if c.Shadow != nil {
		x.delivery("shadow bundle", c.Shadow)
	}
	if r := c.Reports; r != nil && r.Error != "" {
		x.Warn("status reports", "permd status", "the service %s did not take the newest one: %s", r.Service, r.Error)
	}
}

// delivery checks one bundle.
func (x *examination) delivery(check string, b *orgbundle.Status) {
	const fix = "permd status"
	switch {
	case b.Revision == "" && check == "shadow bundle":
		x.Warn(check, fix, "nothing is tried: %s", b.Error)
	case b.Revision == "":
		x.Error(check, fix, "none is in force, so every call may ask: %s", b.Error)
	case b.Error != "":
		since := ""
		if !b.Since.IsZero() {
			since = " since " + b.Since.Local().Format(time.DateTime)
		}
		x.Warn(check, fix, "revision %s is in force, and no other was taken%s: %s", b.Revision, since, b.Error)
	case b.Expired:
		x.Warn(check, fix, "revision %s expired at %s, and is still in force: a newer one must be published", b.Revision, b.Expires.Local().Format(time.DateTime))
	case b.Checked.IsZero():
		x.Warn(check, fix, "revision %s is in force, and the server has not answered yet", b.Revision)
	default:
		x.OK(check, "revision %s, the server answered at %s", b.Revision, b.Checked.Local().Format(time.DateTime))
	}
	if b.Kept != "" && b.Kept != b.Error {
		x.Warn(check, fix, "what was kept of it is not in force: %s", b.Kept)
	}
}
