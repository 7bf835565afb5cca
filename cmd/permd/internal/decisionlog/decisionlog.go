// Package decisionlog sends the daemon's journal to the service that the organisation's
// opa.yaml names in decision_logs: it gives package decisionlogs the journal, the configuration
// and the policies that mask, and says in the status and in metrics how far it is.
package decisionlog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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

// machineLabel is the label of events with the id that the machine has in status reports.
const machineLabel = "machine"

// file returns the path of the file that says how far the log was sent, one for each data
// folder.
func file(dirs xdg.Dirs) string {
	sum := sha256.Sum256([]byte(dirs.Data))
	return filepath.Join(dirs.State, "sent-"+hex.EncodeToString(sum[:6]))
}

// Services returns what runs the services that are configured, nil if there are none.
type Services func() (*management.Manager, error)

// New returns what sends a journal. Nothing is sent before Run.
func New(dirs xdg.Dirs, services Services, r *journal.Reader, log *slog.Logger, now func() time.Time) *decisionlogs.Uploader {
	t := &target{dirs: dirs, services: services}
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

// target is where the log is sent, made anew when the configuration or a policy has changed.
type target struct {
	dirs     xdg.Dirs
	services Services

	manager *management.Manager
	config  *management.Config
	files   string // digest of the policies
	made    *decisionlogs.Target
}

// get returns where the log is sent, nil for nowhere.
func (t *target) get() (*decisionlogs.Target, error) {
	m, err := t.services()
	if err != nil {
		return nil, err
	}
	if m == nil || m.Config().DecisionLogs == nil {
		t.made, t.manager = nil, nil
		return nil, nil
	}
	config := m.Config()
	policies, err := t.policies()
	if err != nil {
		return nil, err
	}
	digest := source.Digest(nil, policies)
	if t.manager == m && t.config == config && t.files == digest {
		return t.made, nil
	}
	made, err := t.make(m, config, policies)
	if err != nil {
		return nil, err
	}
	t.made, t.manager, t.config, t.files = made, m, config, digest
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
func (t *target) make(m *management.Manager, config *management.Config, policies []source.File) (*decisionlogs.Target, error) {
	c, err := decisionlogs.ParseConfig(config.DecisionLogs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", management.ConfigName, err)
	}
	policy, err := masking.Compile(policies, c.Mask, c.Drop)
	if err != nil {
		return nil, fmt.Errorf("nothing is sent: %w", err)
	}
	client, labels := m.Client(c.Service), m.Labels()
	if _, set := labels[machineLabel]; !set {
		labels[machineLabel] = labels["id"] // which is the journal's in events
	}
	return &decisionlogs.Target{
		Config: c, Policy: policy, Labels: labels,
		Post: func(ctx context.Context, path string, body []byte) (*http.Response, error) {
			return client.WithHeader("Content-Type", "application/json").WithHeader("Content-Encoding", "gzip").WithBytes(body).Do(ctx, http.MethodPost, path)
		},
	}, nil
}
