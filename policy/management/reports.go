package management

import (
	"context"
	"fmt"
	"sync"

	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins"
	opabundle "github.com/open-policy-agent/opa/v1/plugins/bundle"
	"github.com/open-policy-agent/opa/v1/plugins/status"

	"github.com/permd/permd/policy/bundles"
)

// reporter sends the status of bundles by OPA's status plugin. That takes one at a time and waits
// for the service, so it has a goroutine: no bundle waits until its status was sent.
type reporter struct {
	plugin  *status.Plugin
	manager *plugins.Manager
	started bool
	wake    chan struct{}
	end     chan struct{}
	done    chan struct{}

	mu    sync.Mutex
	dirty map[*bundlePlugin]bool
	all   map[bundles.Kind]*bundlePlugin // those that have been attempted

	ready map[string]bool // OPA's plugins that were reported as OK; of run alone
}

// newReporter returns what reports as a configuration says, nil if it says nothing.
func (m *Manager) newReporter(c *Config) (*reporter, error) {
	if c.Status == nil {
		return nil, nil
	}
	of, err := status.ParseConfig(c.Status, m.opa.Services(), nil)
	if err != nil || of == nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	return &reporter{
		plugin: status.New(of, m.opa).WithMetrics(metrics.New()), manager: m.opa,
		wake: make(chan struct{}, 1), end: make(chan struct{}), done: make(chan struct{}),
		dirty: map[*bundlePlugin]bool{}, all: make(map[bundles.Kind]*bundlePlugin), ready: map[string]bool{},
	}, nil
}

func (r *reporter) start(ctx context.Context) error {
	if err := r.plugin.Start(ctx); err != nil {
		return err
	}
	r.started = true
	go r.run()
	return nil
}

// stop sends what is still to be sent, as long as ctx permits, and ends.
func (r *reporter) stop(ctx context.Context) {
	if r == nil || !r.started {
		return
	}
	close(r.end)
	// The goroutine first: it would wait forever for a plugin that has ended.
	select {
	case <-r.done:
	case <-ctx.Done():
	}
	r.plugin.Stop(ctx)
}

// note has the status of a bundle sent.
func (r *reporter) note(p *bundlePlugin) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.dirty[p], r.all[p.kind] = true, p
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// drop forgets a bundle that is configured no more.
func (r *reporter) drop(p *bundlePlugin) {
	if r == nil || p == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.dirty, p)
	if r.all[p.kind] == p {
		delete(r.all, p.kind)
	}
}

func (r *reporter) run() {
	defer close(r.done)
	for {
		select {
		case <-r.end:
			return
		case <-r.wake:
			r.send()
		}
	}
}

// send gives the plugin what has changed. It takes all bundles but that of discovery at once.
func (r *reporter) send() {
	r.mu.Lock()
	var discovered *bundlePlugin
	others := false
	for p := range r.dirty {
		if p.kind == bundles.Discovery {
			discovered = p
		} else {
			others = true
		}
	}
	clear(r.dirty)
	reports := map[string]*opabundle.Status{}
	for kind, p := range r.all {
		if kind != bundles.Discovery {
			reports[string(kind)] = p.currentReport()
		}
	}
	r.mu.Unlock()
	if discovered != nil {
		report := discovered.currentReport()
		r.plugin.UpdateDiscoveryStatus(*report)
		r.noteReady(string(bundles.Discovery), report)
	}
	if others {
		r.plugin.BulkUpdateBundleStatus(reports)
		for _, report := range reports {
			r.noteReady(opabundle.Name, report)
		}
	}
}

// noteReady reports a plugin as OK once a bundle of it was activated.
func (r *reporter) noteReady(name string, report *opabundle.Status) {
	if !r.ready[name] && !report.LastSuccessfulActivation.IsZero() {
		r.ready[name] = true
		r.manager.UpdatePluginStatus(name, &plugins.Status{State: plugins.StateOK})
	}
}
