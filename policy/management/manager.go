package management

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/rest"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/util"
)

// Options are what a manager needs besides its configuration.
type Options struct {
	// ID identifies this permd to services, as OPA's id does.
	ID  string
	Log *slog.Logger
	// Owners are the uids that may own files with secrets, besides root and the process's own.
	Owners []uint32
}

// Manager runs OPA's plugin manager with the services of a configuration. Plugins are
// registered before Start.
type Manager struct {
	OPA    *plugins.Manager
	Config *Config

	log    *slog.Logger
	bundle *bundlePlugin // nil if there is none
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
	m := &Manager{Config: c, log: opts.Log}
	var err error
	m.OPA, err = plugins.New(encoded(raw), opts.ID, inmem.New(), plugins.Logger(logger{opts.Log, nil}), plugins.ConsoleLogger(logging.NewNoOpLogger()))
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(c.services)) {
		a, err := newAuth(c, name)
		if err != nil {
			return nil, err
		}
		m.OPA.Register(authName(name), a)
	}
	return m, nil
}

// Client returns OPA's client of a service, with its credentials.
func (m *Manager) Client(service string) rest.Client { return m.OPA.Client(service) }

// Start starts the registered plugins.
func (m *Manager) Start(ctx context.Context) error { return m.OPA.Start(ctx) }

// stopWithin is how long plugins may take to stop, for what they still have to send.
const stopWithin = 2 * time.Second

// Stop stops the plugins.
func (m *Manager) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	m.OPA.Stop(ctx)
}

// auth is the credentials of a service. It is how OPA lets others make the client of a service;
// the credentials themselves are OPA's own.
type auth struct {
	rest.HTTPAuthPlugin
	limits limits
}

func authName(service string) string { return "permd.credentials." + service }

func newAuth(c *Config, name string) (*auth, error) {
	var of rest.Config
	v := section(section(c.raw, "services"), name)
	if err := util.Unmarshal(encoded(v), &of); err != nil {
		return nil, err
	}
	inner, err := of.AuthPlugin(nil)
	if err != nil {
		return nil, err
	}
	l := limits{https: strings.HasPrefix(c.services[name].url, "https:"), oci: c.services[name].oci}
	l.bundles = c.Bundle != nil && c.Bundle.Service == name
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
