package management

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/rest"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/permd/permd/policy/bundles"
)

// Options are what a manager needs besides its configuration.
type Options struct {
	Machine Machine
	Log     *slog.Logger
	// Owners are the uids that may own files with secrets, besides root and the process's own.
	Owners []uint32
	// Discovery is what was discovered before, nil if the configuration has no discovery.
	Discovery *Discovery
	// Activate puts a bundle of one of [bundles.OfRules] in force and returns its
	// revision, or says why it does not: then what was in force stays. Each kind is delivered by
	// one goroutine.
	Activate func(ctx context.Context, kind bundles.Kind, data []byte) (revision string, err error)
	// Check returns an error if a discovered configuration cannot be used; nil if all can.
	Check func(*Config) error
	// Applied is called when a discovered configuration comes into force: bundles that it does not
	// name are delivered no more, and those that it names are not yet. nil if nobody needs to know.
	Applied func()
	// Counters are reported with the status of a bundle, as counters of its metrics; nil for none.
	Counters func(kind bundles.Kind) map[string]uint64
	// Changed is called after each change of what Status returns; nil if nobody needs to know.
	Changed func()
}

// Manager runs OPA's plugin manager with the services of a configuration, and plugins for the
// bundles and reports that it names. It is safe for concurrent use.
type Manager struct {
	opa    *plugins.Manager
	config *Config
	opts   Options

	discovery  *bundlePlugin // nil if there is none
	validators validators
	reported   reported
	clock      func() time.Time

	mu       sync.Mutex
	ctx      context.Context // of Start; nil before it
	stopped  bool
	now      *Config // in force
	bundles  map[bundles.Kind]*bundlePlugin
	reporter *reporter // nil if no status is reported
}

// New returns a manager that has connected to nothing yet.
func New(c *Config, opts Options) (*Manager, error) {
	raw := maps.Clone(c.raw)
	delete(raw, "plugins") // permd's own
	services := map[string]any{}
	for name, v := range section(raw, "services") {
		if err := c.services[name].checkFiles(opts.Owners); err != nil {
			return nil, fmt.Errorf("service %s: %w", name, err)
		}
		of := maps.Clone(v.(map[string]any))
		of["credentials"] = map[string]any{"plugin": authName(name)}
		services[name] = of
	}
	raw["services"] = services
	m := &Manager{config: c, opts: opts, clock: time.Now, bundles: make(map[bundles.Kind]*bundlePlugin)}
	m.opts.setDefaults()
	m.reported.changed = m.opts.Changed
	opa, err := plugins.New(encoded(raw), opts.Machine.ID, inmem.New(), plugins.Logger(logger{opts.Log, nil}), plugins.ConsoleLogger(logging.NewNoOpLogger()))
	if err != nil {
		return nil, err
	}
	m.opa = opa
	opa.Config.Labels = opts.Machine.AllLabels(c) // OPA's version label is its own
	if err := m.prepare(); err != nil {
		m.Stop()
		return nil, err
	}
	return m, nil
}

func (o *Options) setDefaults() {
	if o.Check == nil {
		o.Check = func(*Config) error { return nil }
	}
	if o.Applied == nil {
		o.Applied = func() {}
	}
	if o.Counters == nil {
		o.Counters = func(bundles.Kind) map[string]uint64 { return nil }
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
}

// prepare makes the plugins of the configuration in force.
func (m *Manager) prepare() error {
	for _, name := range slices.Sorted(maps.Keys(m.config.services)) {
		a, err := newAuth(m.config, name, limits{validators: &m.validators, reported: &m.reported})
		if err != nil {
			return err
		}
		m.opa.Register(authName(name), a)
	}
	if m.config.Sources[bundles.Discovery] != nil {
		m.discovery = m.newBundle(m.config, bundles.Discovery)
	}
	apply, err := m.replace(m.opts.Discovery.Effective(m.config))
	if err == nil {
		apply()
	}
	return err
}

// discover takes a discovery bundle.
func (m *Manager) discover(ctx context.Context, data []byte) (revision string, err error) {
	return m.opts.Discovery.take(ctx, data, func(c *Config) (func(), error) {
		if err := m.opts.Check(c); err != nil {
			return nil, fmt.Errorf("the discovered configuration: %w", err)
		}
		return m.replace(c)
	})
}

// replace makes the plugins of a configuration that differ from those in force, and returns what
// puts them in the place of those. Only discovery calls it once the manager has started.
func (m *Manager) replace(c *Config) (apply func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	made := make(map[bundles.Kind]*bundlePlugin)
	for _, kind := range bundles.OfRules() {
		switch {
		case c.Sources[kind] == nil:
		case m.now.sameSource(c, kind):
			made[kind] = m.bundles[kind]
		default:
			made[kind] = m.newBundle(c, kind)
		}
	}
	reports := m.reporter
	if m.now == nil || !bytes.Equal(m.now.Status, c.Status) {
		if reports, err = m.newReporter(c); err != nil {
			return nil, err
		}
	}
	return func() {
		m.reported.configure(c.Status)
		m.swap(c, made, reports)
	}, nil
}

// swap stops the plugins that are in force no more, and starts those in their place.
func (m *Manager) swap(c *Config, made map[bundles.Kind]*bundlePlugin, reports *reporter) {
	m.mu.Lock()
	before, oldBundles, oldReports, ctx := m.now, m.bundles, m.reporter, m.ctx
	if m.stopped {
		m.mu.Unlock()
		return
	}
	m.now, m.bundles, m.reporter = c, made, reports
	m.mu.Unlock()
	within, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	for kind, p := range oldBundles {
		if made[kind] != p {
			p.stop(within)
			oldReports.drop(p)
		}
	}
	if reports != oldReports {
		oldReports.stop(within)
	}
	if before == nil {
		return // it is not made yet
	}
	m.opts.Applied()
	if ctx == nil {
		return
	}
	if err := m.startAll(ctx); err != nil {
		m.opts.Log.Error("a plugin of the discovered configuration does not start", "error", err)
	}
}

// startAll starts what has not been started.
func (m *Manager) startAll(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped {
		return nil
	}
	if m.reporter != nil && !m.reporter.started {
		if err := m.reporter.start(ctx); err != nil {
			return err
		}
	}
	for _, p := range m.bundles {
		m.reporter.note(p)
		if !p.started {
			p.start(ctx)
		}
	}
	return nil
}

// noteReport has the status of a bundle reported.
func (m *Manager) noteReport(p *bundlePlugin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p == m.discovery || m.bundles[p.kind] == p {
		m.reporter.note(p)
	}
}

// Client returns OPA's client of a service, with its credentials.
func (m *Manager) Client(service string) rest.Client { return m.opa.Client(service) }

// Config returns the configuration in force: that of the file, with what was discovered.
func (m *Manager) Config() *Config {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Labels returns the labels of this machine, as they are reported.
func (m *Manager) Labels() map[string]string { return m.opa.Labels() }

// BundleStatus returns how the delivery of a kind of bundle is, zero if it is not configured.
func (m *Manager) BundleStatus(kind bundles.Kind) BundleStatus {
	m.mu.Lock()
	p := m.bundles[kind]
	m.mu.Unlock()
	return p.status()
}

// DiscoveryStatus returns how discovery is, nil if it is not configured.
func (m *Manager) DiscoveryStatus() *DiscoveryStatus {
	return m.opts.Discovery.Status(m.discovery.status())
}

// Start starts the plugins.
func (m *Manager) Start(ctx context.Context) error {
	if err := m.opa.Start(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	m.ctx = ctx
	m.mu.Unlock()
	if err := m.startAll(ctx); err != nil {
		return err
	}
	if m.discovery != nil {
		m.discovery.start(ctx)
	}
	return nil
}

// stopWithin is how long plugins may take to stop, for what they still have to send.
const stopWithin = 2 * time.Second

// Stop stops the plugins, and waits for bundles that are being taken.
func (m *Manager) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	m.discovery.stop(ctx) // it may put other plugins in place
	m.mu.Lock()
	again := m.stopped
	m.stopped = true
	all, reports := m.bundles, m.reporter
	m.mu.Unlock()
	if again {
		return
	}
	for _, p := range all {
		p.stop(ctx)
	}
	reports.stop(ctx)
	m.opa.Stop(ctx)
}

// auth is the credentials of a service. It is how OPA lets others make the client of a service;
// the credentials themselves are OPA's own.
type auth struct {
	rest.HTTPAuthPlugin
	limits limits
}

func authName(service string) string { return "permd.credentials." + service }

func newAuth(c *Config, name string, l limits) (*auth, error) {
	var of rest.Config
	v := section(section(c.raw, "services"), name)
	if err := util.Unmarshal(encoded(v), &of); err != nil {
		return nil, err
	}
	inner, err := of.AuthPlugin(nil)
	if err != nil {
		return nil, err
	}
	l.https, l.oci = strings.HasPrefix(c.services[name].url, "https:"), c.services[name].oci
	return &auth{inner, l}, nil
}

// NewClient implements [rest.HTTPAuthPlugin].
func (a *auth) NewClient(c rest.Config) (*http.Client, error) {
	client, err := a.HTTPAuthPlugin.NewClient(c)
	if err != nil {
		return nil, err
	}
	client.Transport = &bounded{client.Transport, a.limits}
	return client, nil
}

// Start, Stop and Reconfigure implement [plugins.Plugin].
func (*auth) Start(context.Context) error      { return nil }
func (*auth) Stop(context.Context)             {}
func (*auth) Reconfigure(context.Context, any) {}

// logger writes what OPA's plugins log to permd's log. What they tell of each request is
// left out.
type logger struct {
	log    *slog.Logger
	fields map[string]any
}

var _ logging.Logger = logger{}

func (l logger) write(level slog.Level, format string, args []any) {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	attrs := []slog.Attr{slog.String("what", text)}
	for _, k := range slices.Sorted(maps.Keys(l.fields)) {
		attrs = append(attrs, slog.Any(k, l.fields[k]))
	}
	l.log.LogAttrs(context.Background(), level, "management by OPA's plugins", attrs...)
}

func (l logger) Debug(format string, args ...any) {}
func (l logger) Info(format string, args ...any)  { l.write(slog.LevelDebug, format, args) }
func (l logger) Warn(format string, args ...any)  { l.write(slog.LevelWarn, format, args) }
func (l logger) Error(format string, args ...any) { l.write(slog.LevelError, format, args) }

func (l logger) WithFields(fields map[string]any) logging.Logger {
	all := maps.Clone(fields)
	maps.Copy(all, l.fields)
	return logger{l.log, all}
}

func (logger) GetLevel() logging.Level { return logging.Info }
func (logger) SetLevel(logging.Level)  {}
