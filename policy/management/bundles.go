package management

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/download"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins"
	opabundle "github.com/open-policy-agent/opa/v1/plugins/bundle"
	"github.com/open-policy-agent/opa/v1/plugins/status"

	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/source"
)

// Activate puts the rules of a bundle in force, or says why it does not: then what was in
// force stays. It returns the bundle's revision.
type Activate func(ctx context.Context, data []byte) (revision string, err error)

// BundleStatus is how the delivery of a bundle is.
type BundleStatus struct {
	Source  string    `json:"source"`           // where it comes from
	Checked time.Time `json:"checked,omitzero"` // the last answer that was a bundle, or that there is no other
	// Error is why the last attempt failed, "" if it did not, and Since when that began.
	Error string    `json:"error,omitzero"`
	Since time.Time `json:"since,omitzero"`
}

// loader is what downloads a bundle.
type loader interface {
	Start(context.Context)
	Stop(context.Context)
	SetCache(etag string)
}

// bundlePlugin takes OPA's place of its bundle plugin: with the same configuration, the same
// download and the same status. It is not OPA's own since that activates a bundle in its own
// store before it is kept on the disk, and takes no error for one that cannot be kept.
type bundlePlugin struct {
	manager  *Manager
	config   *opabundle.Source
	loader   loader
	activate Activate
	changed  func()

	mu     sync.Mutex
	etag   string // of the last bundle that was activated
	state  BundleStatus
	report opabundle.Status // for OPA's status plugin
}

// TakeBundles has bundles of the configuration delivered to activate, which is called by one
// goroutine, and their status reported if that is configured. changed is called after each change
// of what BundleStatus returns. It is called before Start, and only if Config.Bundle is set.
func (m *Manager) TakeBundles(activate Activate, changed func()) (err error) {
	p := &bundlePlugin{manager: m, config: m.Config.Bundle, activate: activate, changed: changed}
	p.report.Name = orgBundle
	p.state.Source = m.Config.BundleSource()
	if p.loader, err = p.newLoader(); err != nil {
		return err
	}
	m.bundle = p
	m.OPA.Register(opabundle.Name, p)
	if m.Config.Status == nil {
		return nil
	}
	c, err := status.ParseConfig(m.Config.Status, m.OPA.Services(), nil)
	if err != nil || c == nil {
		return fmt.Errorf("status: %w", err)
	}
	m.OPA.Register(status.Name, status.New(c, m.OPA).WithMetrics(metrics.New()))
	return nil
}

// BundleSource returns where the bundle comes from, as an address, "" if none is configured.
func (c *Config) BundleSource() string {
	switch s := c.Bundle; {
	case s == nil:
		return ""
	case strings.HasPrefix(s.Resource, "file://"):
		return s.Resource
	case c.services[s.Service].oci:
		return "oci://" + s.Resource
	default:
		return strings.TrimRight(c.services[s.Service].url, "/") + "/" + strings.TrimLeft(s.Resource, "/")
	}
}

// Verification returns what verifies the bundle, nil if the organisation says that it needs no
// signature.
func (c *Config) Verification() *bundles.Verifier {
	if c.Unsigned && !c.Bundle.Signing.SignatureRequired() {
		return nil
	}
	return c.Bundle.Signing
}

// BundleStatus returns how the delivery of the bundle is.
func (m *Manager) BundleStatus() BundleStatus {
	if m.bundle == nil {
		return BundleStatus{}
	}
	m.bundle.mu.Lock()
	defer m.bundle.mu.Unlock()
	return m.bundle.state
}

func (p *bundlePlugin) newLoader() (l loader, err error) {
	s := p.config
	if strings.HasPrefix(s.Resource, "file://") {
		u, err := url.Parse(s.Resource)
		if err != nil {
			return nil, err
		}
		polling := s.Polling
		least, most := int64(60), int64(120) // OPA's
		if polling.MinDelaySeconds != nil && polling.MaxDelaySeconds != nil {
			least, most = *polling.MinDelaySeconds, *polling.MaxDelaySeconds
		}
		return newFileLoader(u.Path, time.Duration(least+most)*time.Second/2, p.process), nil
	}
	client, size := p.manager.Client(s.Service), int64(source.MaxFile)
	if s.SizeLimitBytes < size {
		size = s.SizeLimitBytes
	}
	opts := ast.ParserOptions{RegoVersion: ast.DefaultRegoVersion}
	if client.Config().Type == "oci" {
		defer func() { // how OPA says that its temporary folder cannot be made
			if r := recover(); r != nil {
				err = fmt.Errorf("starting the download of %s: %v", s.Resource, r)
			}
		}()
		return download.NewOCI(s.Config, client, s.Resource, "").WithCallback(p.process).WithBundleVerificationConfig(s.Signing).
			WithSizeLimitBytes(size).WithBundlePersistence(true).WithBundleParserOpts(opts), nil
	}
	return download.New(s.Config, client, s.Resource).WithCallback(p.process).WithBundleVerificationConfig(s.Signing).
		WithSizeLimitBytes(size).WithBundlePersistence(true).WithLazyLoadingMode(true).WithBundleName(orgBundle).WithBundleParserOpts(opts), nil
}

// Start implements [plugins.Plugin].
func (p *bundlePlugin) Start(ctx context.Context) error {
	p.loader.Start(ctx)
	p.manager.OPA.UpdatePluginStatus(opabundle.Name, &plugins.Status{State: plugins.StateNotReady})
	return nil
}

// Stop implements [plugins.Plugin].
func (p *bundlePlugin) Stop(ctx context.Context) { p.loader.Stop(ctx) }

// Reconfigure implements [plugins.Plugin]. permd reads its configuration when it starts.
func (p *bundlePlugin) Reconfigure(context.Context, any) {}

// process is called with the result of each attempt. An error makes the loader try again soon.
func (p *bundlePlugin) process(ctx context.Context, u download.Update) error {
	err := u.Error
	var revision string
	if err == nil && u.Bundle != nil {
		revision, err = p.take(ctx, u)
	}
	p.mu.Lock()
	if err == nil && u.Bundle == nil && p.report.LastSuccessfulActivation.IsZero() {
		err = errors.New("the server says that the bundle has not changed, and none of it was taken yet")
	}
	before := p.state
	now := time.Now()
	p.report.LastRequest = now.UTC()
	p.report.Metrics = u.Metrics
	p.report.SetError(err)
	if err != nil {
		p.loader.SetCache(p.etag) // so that it is sent again, or an older one that is in force is not
		text := reason(err)
		if p.state.Error != text {
			p.state.Error, p.state.Since = text, now
		}
	} else {
		p.report.LastSuccessfulRequest = p.report.LastRequest
		if u.Bundle != nil {
			p.etag = u.ETag
			p.report.Type, p.report.LastSuccessfulDownload = bundle.SnapshotBundleType, p.report.LastRequest
			p.report.SetActivateSuccess(revision)
			p.report.SetBundleSize(u.Size)
		}
		p.state.Checked, p.state.Error, p.state.Since = now, "", time.Time{}
	}
	after, report := p.state, p.report
	p.mu.Unlock()

	log := p.manager.log
	switch {
	case after.Error != "" && after.Error != before.Error:
		log.Error("the bundle of org was not taken, what was in force stays", "source", after.Source, "why", after.Error)
	case after.Error == "" && before.Error != "":
		log.Info("the bundle of org can be had again", "source", after.Source)
	}
	if err == nil {
		p.manager.OPA.UpdatePluginStatus(opabundle.Name, &plugins.Status{State: plugins.StateOK})
	}
	if s := status.Lookup(p.manager.OPA); s != nil {
		s.BulkUpdateBundleStatus(map[string]*opabundle.Status{orgBundle: &report})
	}
	p.changed()
	return err
}

// take has a bundle activated that OPA has downloaded and verified: by its bytes, which
// are verified again by the rules of permd.
func (p *bundlePlugin) take(ctx context.Context, u download.Update) (revision string, err error) {
	data, err := io.ReadAll(u.Raw)
	if err != nil {
		return "", err
	}
	return p.activate(ctx, data)
}

// reason returns an error as one line, without what the client repeats.
func reason(err error) string {
	text := strings.TrimPrefix(err.Error(), "request failed: ")
	if u, ok := errors.AsType[*url.Error](err); ok {
		text = u.Err.Error()
	}
	const most = 1 << 10
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// fileLoader reads a bundle from a file again and again: OPA's own reads it once.
type fileLoader struct {
	path    string
	every   time.Duration
	process func(context.Context, download.Update) error
	stop    context.CancelFunc
	done    chan struct{}
	last    []byte // what was taken
}

func newFileLoader(path string, every time.Duration, process func(context.Context, download.Update) error) *fileLoader {
	return &fileLoader{path: path, every: every, process: process, done: make(chan struct{})}
}

// Start implements loader.
func (l *fileLoader) Start(context.Context) {
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go func() {
		defer close(l.done)
		tick := time.NewTicker(l.every)
		defer tick.Stop()
		for {
			l.read(ctx)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
}

func (l *fileLoader) read(ctx context.Context) {
	u := download.Update{Metrics: metrics.New()}
	data, err := readFile(l.path)
	switch {
	case err != nil:
		u.Error = err
	case l.last != nil && bytes.Equal(data, l.last):
	default:
		u.Bundle, u.Raw, u.Size = &bundle.Bundle{}, bytes.NewReader(data), len(data)
	}
	if l.process(ctx, u) == nil && u.Bundle != nil {
		l.last = data
	}
}

// readFile reads a file that may be anything.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	data, err := io.ReadAll(io.LimitReader(f, bundles.MaxArchive+1))
	if err == nil {
		err = bundles.Check(data)
	}
	return data, err
}

// Stop implements loader.
func (l *fileLoader) Stop(context.Context) {
	if l.stop == nil {
		return
	}
	l.stop()
	<-l.done
}

// SetCache implements loader. What was not taken is read again.
func (l *fileLoader) SetCache(string) {}
