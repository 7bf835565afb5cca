package management

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/permd/permd/policy/bundles"
)

// Machine is what a machine says of itself, to services and to the policies of discovery bundles.
type Machine struct {
	ID      string // the same at each start, as OPA's id
	Version string // of permd
	// Labels are in addition to those of the configuration, which have precedence.
	Labels map[string]string
}

// AllLabels returns the labels of the machine under a configuration: its own, those of the
// configuration, and its id and version.
func (m *Machine) AllLabels(c *Config) map[string]string {
	all := maps.Clone(m.Labels)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, c.Labels)
	all[idLabel], all[versionLabel] = m.ID, m.Version
	return all
}

// Discovery is what was discovered last, which is kept on the disk. A nil Discovery is that of a
// configuration without the section. It is safe for concurrent use.
type Discovery struct {
	config *Config
	labels map[string]string
	now    func() time.Time

	mu        sync.Mutex
	keeper    *bundles.Keeper
	last      *bundles.Bundle // whose decision is in force, nil for none
	effective *Config         // with that decision, nil for none
	kept      string          // why what was kept is not in force, "" if it is, or nothing was
}

// OpenDiscovery returns the last discovered configuration as it is kept in a folder: verified and
// evaluated again. It is nil if the configuration has no section discovery.
func OpenDiscovery(ctx context.Context, c *Config, machine Machine, dir string, now func() time.Time) *Discovery {
	if c.Sources[bundles.Discovery] == nil {
		return nil
	}
	d := &Discovery{config: c, labels: machine.AllLabels(c), now: now}
	d.keeper = bundles.Keep(bundles.Discovery, dir, c.Verification(bundles.Discovery), now)
	last, err := d.keeper.Last()
	if err == nil && last != nil {
		d.effective, err = c.evaluate(ctx, last, d.labels)
	}
	if err != nil {
		d.kept = err.Error()
	} else {
		d.last = last
	}
	return d
}

// Effective returns the configuration that is in force: that of opa.yaml, with what was
// discovered last.
func (d *Discovery) Effective(c *Config) *Config {
	if d == nil {
		return c
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.effective == nil {
		return c
	}
	return d.effective
}

// Missing returns why there is no discovered configuration, "" if there is one or none is to be
// discovered.
func (d *Discovery) Missing() string {
	if d == nil {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.effective != nil:
		return ""
	case d.kept != "":
		return d.kept
	}
	return "no configuration of " + d.config.Address(bundles.Discovery) + " was discovered yet"
}

// take evaluates a discovery bundle that was delivered and keeps it. accept is called with the
// configuration that it results in, and returns how that is put in force once the bundle is kept.
// It is called by one goroutine.
func (d *Discovery) take(ctx context.Context, data []byte, accept func(*Config) (apply func(), err error)) (revision string, err error) {
	d.mu.Lock()
	b, known, err := d.keeper.Read(data)
	last := d.last
	d.mu.Unlock()
	if err != nil {
		return "", err
	}
	if known && last != nil && last.Digest == b.Digest {
		return b.Revision, nil
	}
	effective, err := d.config.evaluate(ctx, b, d.labels)
	if err != nil {
		return "", err
	}
	apply, err := accept(effective)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	if err = d.keeper.Store(b, data); err == nil {
		d.last, d.effective, d.kept = b, effective, ""
	}
	d.mu.Unlock()
	if err != nil {
		return "", fmt.Errorf("the discovery bundle cannot be kept: %w", err)
	}
	apply()
	return b.Revision, nil
}

// DiscoveryStatus is how discovery is.
type DiscoveryStatus struct {
	BundleStatus
	// Revision is in force, "" for none, Accepted since when, and Expires until when it could
	// be accepted, zero for ever.
	Revision string    `json:"revision,omitzero"`
	Accepted time.Time `json:"accepted,omitzero"`
	Expires  time.Time `json:"expires,omitzero"`
	Expired  bool      `json:"expired,omitzero"`
	Highest  string    `json:"highest,omitzero"` // the highest revision that was accepted
	// Kept is why the bundle on the disk is not in force, "" if it is or there was none.
	Kept string `json:"kept,omitzero"`
}

// Status returns how discovery is, with how its bundle is delivered; nil without discovery.
func (d *Discovery) Status(of BundleStatus) *DiscoveryStatus {
	if d == nil {
		return nil
	}
	missing := d.Missing()
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &DiscoveryStatus{BundleStatus: of, Kept: d.kept}
	s.Source = d.config.Address(bundles.Discovery)
	if a := d.keeper.Accepted(); a != nil {
		s.Highest, s.Accepted = a.Revision, a.At
	}
	if b := d.last; b != nil {
		s.Revision, s.Expires, s.Expired = b.Revision, b.Expires, b.Expired(d.now())
	} else if s.Error == "" {
		s.Error = missing
	}
	return s
}
