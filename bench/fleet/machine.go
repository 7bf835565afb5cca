package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/management"
)

// machine is one simulated machine: what a daemon has of its organisation, in a folder of its own.
type machine struct {
	fleet *fleet
	n     int
	id    string
	dir   string

	manager *management.Manager
	deliver delivers
	store   *policy.Store // nil if the judge compiles for it
	log     *journalling  // nil if it decides nothing

	mu      sync.Mutex
	keeper  *bundles.Keeper
	last    *bundles.Bundle
	changed time.Time // when last was taken
	start   string    // the revision that it had at its start, "" for none
}

func (f *fleet) newMachine(n int) *machine {
	return &machine{fleet: f, n: n, id: uuid.NewString(), dir: filepath.Join(f.dir, "machines", fmt.Sprint(n))}
}

func (m *machine) name() string { return fmt.Sprintf("m%05d", m.n) }

// config is the machine's opa.yaml.
func (m *machine) config() string {
	f := m.fleet
	least := int(f.o.poll / time.Second)
	text := fmt.Sprintf(`labels: {machine: %s}
services:
  web:
    url: https://%[2]s
    response_header_timeout_seconds: %[3]d
    tls: {ca_cert: %[4]s}
  audit:
    url: https://%[2]s
    response_header_timeout_seconds: %[3]d
    tls: {ca_cert: %[4]s}
    credentials: {bearer: {token_path: %[5]s}}
keys:
  %[6]s:
    algorithm: ES256
    scope: %[7]s
    key: |
      %[8]s
status: {service: audit}
decision_logs:
  service: audit
  reporting: {min_delay_seconds: %[9]d, max_delay_seconds: %[10]d}
`, m.name(), f.web.address(), f.o.answer/time.Second, f.site.ca(), f.site.token(), keyID, scope,
		strings.ReplaceAll(strings.TrimSpace(f.site.key.public), "\n", "\n      "), least, 2*least)
	return text + fmt.Sprintf("bundles:\n  org:\n    service: web\n    resource: %s\n    polling: {min_delay_seconds: %d, max_delay_seconds: %d}\n    signing: {keyid: %s, scope: %s}\n",
		resource, least, 2*least, keyID, scope)
}

// begin starts the machine, as a daemon starts: with what it has kept, and whether or not the
// server answers.
func (m *machine) begin(ctx context.Context) error {
	c, err := management.Parse("opa.yaml", []byte(m.config()))
	if err != nil {
		return err
	}
	keeper := bundles.Keep(filepath.Join(m.dir, "bundles"), c.Verification(), time.Now)
	last, err := keeper.Last()
	if err != nil {
		return fmt.Errorf("%s: %w", m.name(), err)
	}
	m.mu.Lock()
	m.keeper, m.last, m.start = keeper, last, ""
	if last != nil {
		m.start = last.Revision
	}
	m.mu.Unlock()
	m.deliver = m.fleet.judge.deliver
	if m.n < m.fleet.o.stores {
		if m.store == nil {
			if m.store, err = m.fleet.stores.open(ctx, last); err != nil {
				return err
			}
		}
		m.deliver = inStore(m.store)
	}
	log := slog.New(slog.DiscardHandler)
	if m.fleet.o.verbose {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("machine", m.name())
	}
	if m.manager, err = management.New(c, management.Options{ID: m.id, Log: log}); err != nil {
		return err
	}
	if err := m.manager.TakeBundles(m.activate, func() {}); err != nil {
		return err
	}
	if m.log != nil {
		if err := m.log.begin(m, c, log); err != nil {
			return err
		}
	}
	return m.manager.Start(ctx)
}

func (m *machine) end() error {
	m.manager.Stop()
	m.store = nil // a daemon that starts has none
	if m.log != nil {
		return m.log.end()
	}
	return nil
}

// activate does what a daemon does with a bundle.
func (m *machine) activate(ctx context.Context, data []byte) (string, error) {
	m.mu.Lock()
	b, known, err := m.keeper.Read(data)
	last := m.last
	m.mu.Unlock()
	if err != nil {
		return "", err
	}
	if known && last != nil && last.Digest == b.Digest && (m.store == nil || m.store.Missing() == "") {
		return b.Revision, nil
	}
	err = m.deliver(ctx, b, func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if err := m.keeper.Store(b, data); err != nil {
			return fmt.Errorf("the bundle cannot be kept: %w", err)
		}
		m.last, m.changed = b, time.Now()
		return nil
	})
	return b.Revision, err
}

// inForce returns the revision that the machine has, "" for none, and since when.
func (m *machine) inForce() (revision string, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		return "", m.changed
	}
	return m.last.Revision, m.changed
}

// problem returns why the last download was not taken, "" if it was, and since when.
func (m *machine) problem() (string, time.Time) {
	s := m.manager.BundleStatus()
	return s.Error, s.Since
}

// checked returns when the server last said what is in force.
func (m *machine) checked() time.Time { return m.manager.BundleStatus().Checked }
