package orgbundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/decisionlogs"
	"github.com/permd/permd/policy/management"
)

// lookEvery is how often a daemon looks whether opa.yaml has changed.
const lookEvery = 20 * time.Second

// Daemon is what a daemon has for its deliveries.
type Daemon struct {
	Store *policy.Store
	Log   *slog.Logger
	// Counters are reported of the bundle that is tried, nil for none.
	Counters func() map[string]uint64
	// Changed is called when the status has changed.
	Changed func()
}

// daemon is a Daemon with what it has found out.
type daemon struct {
	Daemon
	id  string          // of the machine, "" before it is known
	ctx context.Context // of the daemon, nil before Start
}

// Prepare has the last good bundle of those that are tried tried, and makes an id for this machine
// if it has none. It is called before Start, and connects to nothing.
func (d *Delivery) Prepare(ctx context.Context, of Daemon) {
	d.reading.Lock()
	defer d.reading.Unlock()
	d.daemon.Daemon = of
	if d.in != nil {
		d.identify(ctx)
		d.tryKept(ctx)
	}
}

// Start begins to take bundles. What cannot be started is in the status, and tried again.
func (d *Delivery) Start(ctx context.Context) {
	d.reading.Lock()
	defer d.reading.Unlock()
	d.daemon.ctx = ctx
	if d.in != nil {
		d.start(ctx)
	}
}

// identify makes an id for this machine, if it has none, and evaluates what was discovered for it.
func (d *Delivery) identify(ctx context.Context) {
	if d.daemon.id != "" {
		return
	}
	id, err := makeID(d.dir())
	if err != nil {
		d.daemon.Log.Error("the id of this machine cannot be kept, so it is another one after a restart", "error", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.daemon.id = id
	if d.in == nil || d.in.discovery == nil {
		return
	}
	d.in.discovery = management.OpenDiscovery(ctx, d.in.config, d.machine(), d.dir(), d.now)
	d.open(d.in, d.in)
}

// Run takes bundles until ctx is done, and follows the changes of opa.yaml.
func (d *Delivery) Run(ctx context.Context) {
	if d == nil {
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			d.reading.Lock()
			defer d.reading.Unlock()
			d.mu.Lock()
			d.ended = true
			m := d.manager
			d.mu.Unlock()
			if m != nil {
				m.Stop()
			}
			return
		case <-tick.C:
			_ = d.Reload(ctx) // the status says it
		}
	}
}

// start makes a manager of the configuration in force, and starts it.
func (d *Delivery) start(ctx context.Context) {
	m, err := d.newManager(d.in)
	if err == nil {
		if err = m.Start(ctx); err != nil {
			m.Stop()
		}
	}
	d.mu.Lock()
	if err == nil {
		d.manager, d.failed = m, ""
	} else {
		first := d.failed != err.Error()
		d.failed = err.Error()
		if first {
			d.daemon.Log.Error("bundles of org are not taken, what is in force stays", "error", err)
		}
	}
	d.mu.Unlock()
	d.daemon.Changed()
}

// newManager makes what runs a configuration, and starts nothing.
func (d *Delivery) newManager(in *inForce) (*management.Manager, error) {
	return management.New(in.config, management.Options{
		Machine: d.machine(), Log: d.daemon.Log, Owners: d.owners, Discovery: in.discovery,
		Activate: func(ctx context.Context, kind bundles.Kind, data []byte) (string, error) {
			return d.activate(ctx, in, kind, data)
		},
		Check:   CheckDiscovered,
		Applied: func() { d.applied(in) },
		Counters: func(kind bundles.Kind) map[string]uint64 {
			if kind != bundles.Shadow || d.daemon.Counters == nil {
				return nil
			}
			return d.daemon.Counters()
		},
		Changed: d.daemon.Changed,
	})
}

// CheckDiscovered returns an error if a part of a discovered configuration that is not read by
// package management cannot be used.
func CheckDiscovered(c *management.Config) error {
	if c.DecisionLogs == nil {
		return nil
	}
	_, err := decisionlogs.ParseConfig(c.DecisionLogs)
	return err
}

// applied follows a discovered configuration that came into force.
func (d *Delivery) applied(in *inForce) {
	d.mu.Lock()
	d.open(in, in)
	tried := in.bundles[bundles.Shadow] != nil
	d.mu.Unlock()
	if !tried {
		d.endShadow()
	}
	d.useKept(d.daemon.ctx)
	d.daemon.Log.Info("a discovered configuration is in force", "source", in.config.Address(bundles.Discovery))
}

// endShadow ends that a bundle is tried.
func (d *Delivery) endShadow() {
	if err := d.daemon.Store.DeliverShadow(context.Background(), "", nil, nil); err != nil {
		d.daemon.Log.Error("the bundle that was tried still is", "error", err)
	}
}

// errEnded is the error for a bundle that comes when its configuration is in force no more.
var errEnded = errors.New("the configuration is in force no more")

// activate puts a bundle in force if it may follow the last one, its rules are good, and it could
// be kept.
func (d *Delivery) activate(ctx context.Context, in *inForce, kind bundles.Kind, data []byte) (revision string, err error) {
	store := d.daemon.Store
	d.delivering.Lock()
	defer d.delivering.Unlock()
	d.mu.Lock()
	k := in.of(kind)
	if k == nil {
		d.mu.Unlock()
		return "", errEnded
	}
	b, known, err := k.keeper.Read(data)
	last, active := k.last, k.active
	d.mu.Unlock()
	if err != nil {
		return "", err
	}
	if known && last != nil && last.Digest == b.Digest && active && (kind == bundles.Shadow || store.Missing(LayerOf(kind)) == "") {
		return b.Revision, nil
	}
	commit := func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if err := k.keeper.Store(b, data); err != nil {
			return fmt.Errorf("the bundle cannot be kept: %w", err)
		}
		k.last, k.active, k.damaged = b, true, ""
		return nil
	}
	switch kind {
	case bundles.Shadow:
		err = store.DeliverShadow(ctx, b.Revision, b.Files, commit)
	case bundles.User:
		err = store.DeliverUsers(ctx, b.Files, commit)
	case bundles.Org, bundles.Discovery:
		err = store.Deliver(ctx, b.Files, commit)
	}
	if err != nil {
		return "", err
	}
	d.daemon.Log.Info("a bundle is in force", "bundle", kind, "revision", b.Revision, "key", b.KeyID, "files", len(b.Files), "digest", b.Digest)
	return b.Revision, nil
}

// Reload reads opa.yaml again, if it has changed. After an error what was in force stays. It does
// nothing before Start.
func (d *Delivery) Reload(ctx context.Context) error {
	if d == nil {
		return nil
	}
	d.reading.Lock()
	defer d.reading.Unlock()
	if d.daemon.ctx == nil {
		return nil
	}
	d.mu.Lock()
	in, ended, failed := d.in, d.ended, d.failed
	d.mu.Unlock()
	if ended {
		return nil
	}
	text, config, err := d.read()
	switch {
	case err != nil:
		return d.noteUnread(err)
	case in == nil && config == nil:
		return d.noteUnread(nil)
	case in != nil && (config == nil) == (in.text == nil) && bytes.Equal(text, in.text):
		if failed != "" {
			d.start(d.daemon.ctx)
		}
		return d.noteUnread(nil)
	case config == nil:
		d.remove()
		return d.noteUnread(nil)
	}
	return d.noteUnread(d.change(ctx, text, config))
}

// noteUnread notes why the file as it is now is not in force.
func (d *Delivery) noteUnread(err error) error {
	why := ""
	if err != nil {
		why = err.Error()
	}
	d.mu.Lock()
	changed := d.unread != why
	d.unread = why
	d.mu.Unlock()
	if changed {
		if err != nil {
			d.daemon.Log.Error("the changed opa.yaml cannot be used, the last good one stays in force", "error", err)
		}
		d.daemon.Changed()
	}
	return err
}

// remove ends all deliveries. The rules that were delivered stay in use until the next start.
func (d *Delivery) remove() {
	d.mu.Lock()
	m := d.manager
	in := &inForce{config: &management.Config{}}
	d.open(in, d.in)
	d.in, d.manager, d.failed = in, nil, ""
	d.mu.Unlock()
	if m != nil {
		m.Stop()
	}
	d.endShadow()
	d.daemon.Log.Warn("opa.yaml is gone: no bundles are taken, and the last one is in use until the next start")
}

// change puts another configuration in force.
func (d *Delivery) change(ctx context.Context, text []byte, config *management.Config) error {
	d.mu.Lock()
	before, old := d.in, d.manager
	d.mu.Unlock()
	d.identify(ctx)
	in := d.keptOf(ctx, text, config, before)
	m, err := d.newManager(in)
	if err != nil {
		return err
	}
	if old != nil {
		old.Stop()
	}
	d.mu.Lock()
	d.takeOver(in, before)
	d.in, d.manager, d.failed = in, m, ""
	d.mu.Unlock()
	if in.of(bundles.Shadow) == nil {
		d.endShadow()
	}
	d.useKept(d.daemon.ctx) // not ctx, which may be that of a request
	if err := m.Start(d.daemon.ctx); err != nil {
		m.Stop()
		d.mu.Lock()
		d.manager, d.failed = nil, err.Error()
		d.mu.Unlock()
		return err
	}
	d.daemon.Log.Info("the changed opa.yaml is in force")
	return nil
}

// takeOver has what was taken meanwhile count in a new configuration: bundles that were in force
// before stay, and those that follow are verified as the new one says, if it names them.
func (d *Delivery) takeOver(in, before *inForce) {
	effective := in.discovery.Effective(in.config)
	for kind, k := range in.bundles {
		was := before.of(kind)
		if was == nil || was.last == nil {
			continue
		}
		k.last, k.active, k.keeper = was.last, was.active, was.keeper
		if effective.Sources[kind] != nil {
			k.keeper = bundles.Keep(kind, d.dir(), effective.Verification(kind), d.now)
		}
	}
}

// Manager returns what runs the services, and nil if there is no configuration. The error says why
// there is none although there is a configuration.
func (d *Delivery) Manager() (*management.Manager, error) {
	if d == nil {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed != "" {
		return nil, errors.New(d.failed)
	}
	return d.manager, nil
}
