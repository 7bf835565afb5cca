package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
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
	store   *policy.Store // nil if the judge compiles for it
	log     *journalling  // nil if it decides nothing
	start   string        // the revision that it had at its start, "" for none

	mu        sync.Mutex
	discovery *management.Discovery // nil without
	config    *management.Config    // of the file
	bundles   map[bundles.Kind]*kept
}

// kept is the last good bundle of a kind.
type kept struct {
	keeper *bundles.Keeper
	last   *bundles.Bundle // nil for none
	taken  time.Time       // when it was taken; zero if before the start
}

func (f *fleet) newMachine(n int) *machine {
	chosen := n == 0 || n == f.o.machines-1 || n == f.o.machines // one with a store, one with a journal, a daemon
	return &machine{fleet: f, n: n, id: newID(chosen), dir: filepath.Join(f.dir, "machines", fmt.Sprint(n))}
}

func (m *machine) name() string { return fmt.Sprintf("m%05d", m.n) }

// opaYAML is the machine's opa.yaml.
func (m *machine) opaYAML() string {
	f := m.fleet
	polling := fmt.Sprintf("{min_delay_seconds: %d, max_delay_seconds: %d}", f.o.poll/time.Second, f.longest()/time.Second)
	text := fmt.Sprintf(`labels: {machine: %s}
services:
  control:
    url: https://%s
    response_header_timeout_seconds: %d
    tls: {ca_cert: %s}
    credentials: {bearer: {token_path: %s}}
keys:
  %s:
    algorithm: ES256
    key: |
      %s
`, m.name(), f.web.address(), f.o.answer/time.Second, f.site.ca(), f.site.token(), keyID, strings.ReplaceAll(strings.TrimSpace(f.site.key.public), "\n", "\n      "))
	if f.discovering {
		return text + fmt.Sprintf(`discovery:
  service: control
  resource: %s
  decision: discovery/config
  polling: %s
  signing: {keyid: %s}
`, discoveryResource, polling, keyID)
	}
	return text + fmt.Sprintf(`bundles:
  org:
    service: control
    resource: %s
    polling: %s
    signing: {keyid: %s}
status: {service: control}
decision_logs:
  service: control
  reporting: %s
`, resource, polling, keyID, polling)
}

// begin starts the machine, as a daemon starts: with what it has kept, and whether or not the
// server answers.
func (m *machine) begin(ctx context.Context) error {
	c, err := management.Parse("opa.yaml", []byte(m.opaYAML()))
	if err != nil {
		return err
	}
	self := management.Machine{ID: m.id, Version: "fleet", Labels: map[string]string{"app": "permd"}}
	discovery := management.OpenDiscovery(ctx, c, self, m.kept(), time.Now)
	m.mu.Lock()
	m.config, m.discovery, m.bundles = c, discovery, nil
	err = m.open()
	m.mu.Unlock()
	if err != nil {
		return err
	}
	m.start, _ = m.has(bundles.Org)
	if m.n < m.fleet.o.stores && m.store == nil {
		if m.store, err = m.fleet.stores.open(ctx, m.last(bundles.Org)); err != nil {
			return err
		}
	}
	log := slog.New(slog.DiscardHandler)
	if m.fleet.o.verbose {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("machine", m.name())
	}
	m.manager, err = management.New(c, management.Options{
		Machine: self, Log: log, Discovery: discovery, Activate: m.activate, Counters: m.counters,
		Applied: func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if err := m.open(); err != nil {
				log.Error("what was kept cannot be read", "error", err)
			}
		},
	})
	if err != nil {
		return err
	}
	if m.log != nil {
		if err := m.log.begin(m, log); err != nil {
			return err
		}
	}
	return m.manager.Start(ctx)
}

// kept is the folder of what the machine keeps.
func (m *machine) kept() string { return filepath.Join(m.dir, "bundles") }

// open opens what is kept of the bundles of the configuration in force. What was in force before
// stays. The caller holds the lock.
func (m *machine) open() error {
	effective, all := m.discovery.Effective(m.config), map[bundles.Kind]*kept{}
	for _, kind := range []bundles.Kind{bundles.Org, bundles.Shadow} {
		was := m.bundles[kind]
		switch {
		case effective.Sources[kind] == nil:
			if was != nil && kind == bundles.Org {
				all[kind] = was
			}
		case was != nil:
			all[kind] = was
		default:
			k := &kept{keeper: bundles.Keep(kind, m.kept(), effective.Verification(kind), time.Now)}
			var err error
			if k.last, err = k.keeper.Last(); err != nil {
				return fmt.Errorf("%s: %w", m.name(), err)
			}
			all[kind] = k
		}
	}
	m.bundles = all
	return nil
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
func (m *machine) activate(ctx context.Context, kind bundles.Kind, data []byte) (string, error) {
	m.mu.Lock()
	k := m.bundles[kind]
	if k == nil {
		m.mu.Unlock()
		return "", errors.New("the configuration is in force no more")
	}
	b, known, err := k.keeper.Read(data)
	last := k.last
	m.mu.Unlock()
	if err != nil {
		return "", err
	}
	if known && last != nil && last.Digest == b.Digest && (kind == bundles.Shadow || m.store == nil || m.store.Missing(decisions.Org) == "") {
		return b.Revision, nil
	}
	keep := func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if err := k.keeper.Store(b, data); err != nil {
			return fmt.Errorf("the bundle cannot be kept: %w", err)
		}
		k.last, k.taken = b, time.Now()
		return nil
	}
	switch {
	case m.store == nil:
		err = m.fleet.judge.deliver(ctx, b, keep)
	case kind == bundles.Shadow:
		err = m.store.DeliverShadow(ctx, b.Revision, b.Files, keep)
	default:
		err = m.store.Deliver(ctx, b.Files, keep)
	}
	return b.Revision, err
}

// last returns the bundle of a kind that the machine has, nil for none.
func (m *machine) last(kind bundles.Kind) *bundles.Bundle {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.bundles[kind]; k != nil {
		return k.last
	}
	return nil
}

// has returns the revision of a kind that the machine has, "" for none, and since when.
func (m *machine) has(kind bundles.Kind) (revision string, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.bundles[kind]
	if k == nil || k.last == nil {
		return "", since
	}
	return k.last.Revision, k.taken
}

// delivery returns how the delivery of a kind of bundle is.
func (m *machine) delivery(kind bundles.Kind) management.BundleStatus {
	if kind == bundles.Discovery {
		if s := m.manager.DiscoveryStatus(); s != nil {
			return s.BundleStatus
		}
	}
	return m.manager.BundleStatus(kind)
}
