package orgbundle

import (
	"fmt"
	"time"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/management"
)

// Status is how a bundle of the organisation is, as `permd status` shows it.
type Status struct {
	management.BundleStatus
	// Revision is in force, "" for none, Accepted since when, and Expires until when it could
	// be accepted, zero for ever.
	Revision string    `json:"revision,omitzero"`
	Accepted time.Time `json:"accepted,omitzero"`
	Expires  time.Time `json:"expires,omitzero"`
	Expired  bool      `json:"expired,omitzero"`
	Unsigned bool      `json:"unsigned,omitzero"` // bundles need no signature
	Highest  string    `json:"highest,omitzero"`  // the highest revision that was accepted
	// Kept is why the bundle on the disk is not in force, "" if it is or there was none.
	Kept string `json:"kept,omitzero"`
}

// Control is what opa.yaml names besides the rules.
type Control struct {
	// ID is this machine's, the same at each start.
	ID string `json:"id,omitzero"`
	// Problem is why opa.yaml as it is now is not in force, or nothing that it names; "" if it is.
	Problem string `json:"problem,omitzero"`
	// Discovery is how the configuration is discovered, nil if it is not.
	Discovery *management.DiscoveryStatus `json:"discovery,omitzero"`
	// User is the bundle with rules for each person, nil if none is configured.
	User *Status `json:"user,omitzero"`
	// Reports is how status reports are sent, nil if none are to be.
	Reports *management.ReportStatus `json:"reports,omitzero"`
	// Shadow is the bundle whose rules are only tried, nil if none is configured.
	Shadow *Status `json:"shadow,omitzero"`
}

// Status returns how the bundle with the rules of the organisation is, nil if none is configured.
func (d *Delivery) Status() *Status {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.in == nil || d.in.of(bundles.Org) == nil && d.in.discovery == nil {
		return nil
	}
	return d.statusOf(bundles.Org)
}

// Control returns how the other things are that opa.yaml names, nil if there is no such file.
func (d *Delivery) Control() *Control {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.in == nil && d.unread == "" {
		return nil
	}
	c := &Control{ID: d.daemon.id, Problem: d.unread}
	if c.Problem == "" {
		c.Problem = d.failed
	}
	if d.manager != nil {
		c.Discovery, c.Reports = d.manager.DiscoveryStatus(), d.manager.ReportStatus()
	} else if d.in != nil {
		c.Discovery = d.in.discovery.Status(management.BundleStatus{})
	}
	if d.in.of(bundles.User) != nil {
		c.User = d.statusOf(bundles.User)
	}
	if d.in.of(bundles.Shadow) != nil {
		c.Shadow = d.statusOf(bundles.Shadow)
	}
	return c
}

// statusOf returns how a bundle is.
func (d *Delivery) statusOf(kind bundles.Kind) *Status {
	s := &Status{}
	if d.manager != nil {
		s.BundleStatus = d.manager.BundleStatus(kind)
	}
	if d.in.config != nil {
		effective := d.in.discovery.Effective(d.in.config)
		s.Unsigned, s.Source = d.in.config.Unsigned, effective.Address(kind)
	}
	if k := d.in.of(kind); k != nil {
		s.Kept = k.damaged
		if a := k.keeper.Accepted(); a != nil {
			s.Highest, s.Accepted = a.Revision, a.At
		}
		if b := k.last; b != nil {
			s.Revision, s.Expires, s.Expired = b.Revision, b.Expires, b.Expired(d.now())
		}
	}
	if s.Source == "" && s.Revision != "" {
		s.Error = "it is configured no more, and in use until the next start"
	}
	if d.failed != "" {
		s.Error = d.failed
	}
	if s.Revision == "" && s.Error == "" && kind != bundles.Shadow {
		s.Error = d.missing(kind)
	}
	return s
}

func local(t time.Time) string { return t.Local().Format(time.DateTime) }

// Lines says how the bundle is.
func (s *Status) Lines() []string {
	first := "no revision is in force"
	if s.Revision != "" {
		first = "revision " + s.Revision
		if !s.Accepted.IsZero() {
			first += " since " + local(s.Accepted)
		}
	}
	if s.Source != "" {
		first += ", from " + s.Source
	}
	if s.Unsigned {
		first += ", unsigned"
	}
	return append([]string{first}, lines(s.Checked, s.Expired, s.Expires, s.Kept, s.Error, s.Since)...)
}

// lines says how a delivery is.
func lines(checked time.Time, expired bool, expires time.Time, kept, failed string, since time.Time) (list []string) {
	if !checked.IsZero() {
		list = append(list, "checked at "+local(checked))
	}
	if expired {
		list = append(list, "it expired at "+local(expires)+", and is still in force: publish a newer one")
	}
	if kept != "" && kept != failed {
		list = append(list, "what was kept is not in force: "+cli.Clip(kept, maxError))
	}
	if failed != "" {
		text := "not taken"
		if !since.IsZero() {
			text += " since " + local(since)
		}
		list = append(list, text+": "+cli.Clip(failed, maxError))
	}
	return list
}

// Degraded reports whether opa.yaml is not in force as it is, or what was discovered is not.
func (c *Control) Degraded() bool {
	return c != nil && (c.Problem != "" || c.User != nil && c.User.Expired || c.Discovery != nil && (c.Discovery.Revision == "" || c.Discovery.Expired))
}

// Lines says how the configuration is discovered, what people are given, what is tried, and what
// keeps reports from being sent.
func (c *Control) Lines() (list []string) {
	if c == nil {
		return nil
	}
	if c.Problem != "" {
		list = append(list, "opa.yaml   not in force: "+cli.Clip(c.Problem, maxError))
	}
	if s := c.Discovery; s != nil {
		first := "discovery  nothing was discovered"
		if s.Revision != "" {
			first = "discovery  revision " + s.Revision + " since " + local(s.Accepted)
		}
		list = append(list, first+", from "+s.Source+", as machine "+c.ID)
		list = append(list, indented(lines(s.Checked, s.Expired, s.Expires, s.Kept, s.Error, s.Since))...)
	}
	for _, of := range []struct {
		name string
		s    *Status
	}{{"user       ", c.User}, {"tried      ", c.Shadow}} {
		if of.s != nil {
			all := of.s.Lines()
			list = append(list, of.name+all[0])
			list = append(list, indented(all[1:])...)
		}
	}
	if s := c.Reports; s != nil && s.Error != "" {
		last := "none was taken yet"
		if !s.Sent.IsZero() {
			last = "the last one was taken at " + local(s.Sent)
		}
		list = append(list, fmt.Sprintf("reports    not taken by %s since %s, %s: %s", s.Service, local(s.Since), last, cli.Clip(s.Error, maxError)))
	}
	return list
}

func indented(lines []string) []string {
	for i := range lines {
		lines[i] = "           " + lines[i]
	}
	return lines
}

// maxError is how much of an error is shown, in characters.
const maxError = 300
