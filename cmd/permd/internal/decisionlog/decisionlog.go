// Package decisionlog sends the daemon's journal to the service that the organisation's
// opa.yaml names in decision_logs: it gives package decisionlogs the journal, the configuration
// and the policies that mask, and says in the status and in metrics how far it is.
package decisionlog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/buildinfo"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/feed"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy/decisionlogs"
	"github.com/permd/permd/policy/decisionlogs/masking"
	"github.com/permd/permd/policy/management"
	"github.com/permd/permd/policy/source"
)

// policyDir is the name of the folder in the organisation's with the policies that mask and drop
// events.
const policyDir = "log.d"

// file returns the path of the file that says how far the log was sent, one for each data
// folder.
func file(dirs xdg.Dirs) string {
	sum := sha256.Sum256([]byte(dirs.Data))
	return filepath.Join(dirs.State, "sent-"+hex.EncodeToString(sum[:6]))
}

// New returns what sends a journal. Nothing is sent before Run.
func New(dirs xdg.Dirs, r *journal.Reader, log *slog.Logger, now func() time.Time) *decisionlogs.Uploader {
	t := &target{dirs: dirs, log: log}
	return decisionlogs.New(decisionlogs.Options{
		Source: records{r}, Target: t.get, File: file(dirs), Log: log, Now: now,
	})
}

// records is the journal in the form of package decisionlogs.
type records struct{ reader *journal.Reader }

// Read implements [decisionlogs.Source].
func (r records) Read(ctx context.Context, from decisionlogs.Position) (decisionlogs.Page, error) {
	p, err := feed.Read(ctx, r.reader, feed.Position(from))
	if err != nil {
		return decisionlogs.Page{}, err
	}
	out := decisionlogs.Page{
		Start: decisionlogs.Position(p.Start), Next: decisionlogs.Position(p.Next), Replaced: p.Replaced,
		Entries: make([]decisionlogs.Entry, 0, len(p.Entries)),
	}
	for _, e := range p.Entries {
		out.Entries = append(out.Entries, decisionlogs.Entry{Record: e.Record, Added: string(e.Added), After: decisionlogs.Position(e.After)})
	}
	if p.Lost != nil {
		out.Lost, out.LostFrom, out.LostTo = p.Lost.Count, p.Lost.From, p.Lost.To
	}
	return out, nil
}

// Waiting implements [decisionlogs.Source].
func (r records) Waiting(ctx context.Context, from decisionlogs.Position) (int64, time.Time, error) {
	return feed.Waiting(ctx, r.reader, feed.Position(from))
}

// target is where the log is sent, made anew when a file has changed.
type target struct {
	dirs xdg.Dirs
	log  *slog.Logger

	config []byte // of opa.yaml
	files  string // digest of the policies
	made   *decisionlogs.Target
}

// get returns where the log is sent, nil for nowhere.
func (t *target) get() (*decisionlogs.Target, error) {
	name := filepath.Join(t.dirs.Org, management.ConfigName)
	data, err := account.ReadSettingsFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		t.made, t.config = nil, nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	policies, err := t.policies()
	if err != nil {
		return nil, err
	}
	digest := source.Digest(nil, policies)
	if t.config != nil && bytes.Equal(t.config, data) && t.files == digest {
		return t.made, nil
	}
	made, err := t.make(name, data, policies)
	if err != nil {
		return nil, err
	}
	t.made, t.config, t.files = made, data, digest
	return made, nil
}

// policies reads the policies that mask and drop.
func (t *target) policies() ([]source.File, error) {
	tree, err := source.Read(filepath.Join(t.dirs.Org, policyDir), source.Access{Owners: []uint32{0, uint32(os.Geteuid())}})
	if err != nil {
		return nil, fmt.Errorf("reading the policies of decision logs, without which nothing is sent: %w", err)
	}
	return slices.DeleteFunc(tree.Files, func(f source.File) bool { return !strings.HasSuffix(f.Rel, ".rego") }), nil
}

// make makes a target of what was read.
func (t *target) make(name string, data []byte, policies []source.File) (*decisionlogs.Target, error) {
	config, err := management.Parse(name, data)
	if err != nil {
		return nil, err
	}
	if config.DecisionLogs == nil {
		return nil, nil
	}
	c, err := decisionlogs.ParseConfig(config.DecisionLogs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	policy, err := masking.Compile(policies, c.Mask, c.Drop)
	if err != nil {
		return nil, fmt.Errorf("nothing is sent: %w", err)
	}
	m, err := management.New(config, management.Options{Log: t.log})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !slices.Contains(m.OPA.Services(), c.Service) {
		return nil, fmt.Errorf("%s: decision_logs.service is %q, which names no service", name, c.Service)
	}
	client := m.Client(c.Service)
	labels := map[string]string{"app": "permd", "version": buildinfo.Version()}
	if host, err := os.Hostname(); err == nil {
		labels["host"] = host
	}
	for name, value := range config.Labels {
		labels[name] = value
	}
	return &decisionlogs.Target{
		Config: c, Policy: policy, Labels: labels,
		Post: func(ctx context.Context, path string, body []byte) (*http.Response, error) {
			return client.WithHeader("Content-Type", "application/json").WithHeader("Content-Encoding", "gzip").WithBytes(body).Do(ctx, http.MethodPost, path)
		},
	}, nil
}
