package management

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/download"
	opabundle "github.com/open-policy-agent/opa/v1/plugins/bundle"

	"github.com/permd/permd/policy/bundles"
	"github.com/permd/permd/policy/source"
)

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

// bundlePlugin takes the place of OPA's bundle and discovery plugins for one bundle: with the same
// configuration, the same download and the same status. It is not OPA's own since those activate
// a bundle before it is kept on the disk, and take no error for one that cannot be kept.
type bundlePlugin struct {
	manager *Manager
	kind    bundles.Kind
	config  *Source
	take    func(ctx context.Context, data []byte) (revision string, err error)
	loader  loader
	started bool

	validator validator

	processing sync.Mutex // held while the result of a download is processed
	etag       string     // of the last bundle that was taken; guarded by processing
	refused    *refusal   // nil if the last bundle was taken; guarded by processing

	mu     sync.Mutex
	state  BundleStatus
	report opabundle.Status // for OPA's status plugin
}

// newBundle returns what has bundles of a kind taken, as a configuration names them.
func (m *Manager) newBundle(c *Config, kind bundles.Kind) *bundlePlugin {
	p := &bundlePlugin{manager: m, kind: kind, config: c.Sources[kind]}
	p.take = func(ctx context.Context, data []byte) (string, error) { return m.opts.Activate(ctx, kind, data) }
	if kind == bundles.Discovery {
		p.take = m.discover
	}
	p.report.Name = string(kind)
	p.state.Source = c.Address(kind)
	return p
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
	p.manager.validators.set(p.kind, &p.validator)
	return download.New(s.Config, client.WithHeader(kindHeader, string(p.kind)), s.Resource).WithCallback(p.process).WithBundleVerificationConfig(s.Signing).
		WithSizeLimitBytes(size).WithBundlePersistence(true).WithLazyLoadingMode(true).WithBundleName(string(p.kind)).WithBundleParserOpts(opts), nil
}

// start begins to download. Why it cannot is in the status.
func (p *bundlePlugin) start(ctx context.Context) {
	p.started = true
	if err := p.open(); err != nil {
		p.mu.Lock()
		p.state.Error, p.state.Since = reason(err), time.Now()
		p.report.SetError(err)
		p.mu.Unlock()
		p.manager.opts.Log.Error("bundles are not taken, what is in force stays", "bundle", p.kind, "source", p.state.Source, "why", err)
		return
	}
	p.loader.Start(ctx)
}

// open makes the loader, if there is none. That of a registry has a temporary folder, which
// only a loader that was started removes.
func (p *bundlePlugin) open() (err error) {
	if p.loader == nil {
		p.loader, err = p.newLoader()
	}
	return err
}

// stop ends downloads and waits for the one that is in progress. OPA's loaders wait forever for one
// that was never started.
func (p *bundlePlugin) stop(ctx context.Context) {
	if p != nil && p.started && p.loader != nil {
		p.loader.Stop(ctx)
	}
}

// process is called with the result of each attempt. An error makes the loader try again soon.
func (p *bundlePlugin) process(ctx context.Context, u download.Update) error {
	p.processing.Lock()
	defer p.processing.Unlock()
	got, err := p.examine(ctx, &u)
	if got != nil {
		p.etag = got.etag
	}
	etag := p.ask()
	p.mu.Lock()
	if err == nil && got == nil && p.report.LastSuccessfulActivation.IsZero() {
		err = errors.New("the server says that the bundle has not changed, and none of it was taken yet")
	}
	before := p.state
	now := time.Now()
	p.report.LastRequest = now.UTC()
	for name, n := range p.manager.opts.Counters(p.kind) {
		u.Metrics.Counter(name).Add(n)
	}
	p.report.Metrics = u.Metrics
	p.report.SetError(err)
	if err != nil {
		p.loader.SetCache(etag) // the downloader has forgotten it, or has that of what failed
		text := reason(err)
		if p.state.Error != text {
			p.state.Error, p.state.Since = text, now
		}
	} else {
		p.report.LastSuccessfulRequest = p.report.LastRequest
		if got != nil {
			p.report.Type, p.report.LastSuccessfulDownload = bundle.SnapshotBundleType, p.report.LastRequest
			p.report.SetActivateSuccess(got.revision)
			p.report.SetBundleSize(got.size)
		}
		p.state.Checked, p.state.Error, p.state.Since = now, "", time.Time{}
	}
	after := p.state
	p.mu.Unlock()

	log := p.manager.opts.Log
	switch {
	case after.Error != "" && after.Error != before.Error:
		log.Error("a bundle was not taken, what was in force stays", "bundle", p.kind, "source", after.Source, "why", after.Error)
	case after.Error == "" && before.Error != "":
		log.Info("a bundle can be had again", "bundle", p.kind, "source", after.Source)
	}
	p.manager.noteReport(p)
	p.manager.opts.Changed()
	return err
}

// status returns how the delivery is.
func (p *bundlePlugin) status() BundleStatus {
	if p == nil {
		return BundleStatus{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// currentReport returns what OPA's status plugin sends.
func (p *bundlePlugin) currentReport() *opabundle.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.report
	return &r
}

// maxReason is how much of an error is kept, in bytes.
const maxReason = 1 << 10

// reason returns an error as one line, without what the client repeats.
func reason(err error) string {
	text := strings.TrimPrefix(err.Error(), "request failed: ")
	if u, ok := errors.AsType[*url.Error](err); ok {
		text = u.Err.Error()
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}
