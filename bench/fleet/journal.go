package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/permd/permd/bench/shipped"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/feed"
	"github.com/permd/permd/policy/decisionlogs"
	"github.com/permd/permd/policy/management"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/native"
)

// journalling is a machine's journal, and what sends it.
type journalling struct {
	fleet   *fleet
	journal *journal.Journal
	stop    context.CancelFunc
	done    chan struct{}
	decided int // calls, in all

	compared, different atomic.Int64 // of those that were decided while rules are tried
}

// begin opens the journal and sends what is in it, as a daemon does.
func (l *journalling) begin(m *machine, log *slog.Logger) (err error) {
	if l.journal, err = journal.Open(journal.Options{Path: filepath.Join(m.dir, "decisions.db")}); err != nil {
		return err
	}
	u := decisionlogs.New(decisionlogs.Options{
		Source: records{l.journal.Reader}, File: filepath.Join(m.dir, "sent"), Log: log,
		Target: func() (*decisionlogs.Target, error) { return target(m.manager) },
	})
	ctx, stop := context.WithCancel(context.Background())
	l.stop, l.done = stop, make(chan struct{})
	go func() {
		defer close(l.done)
		u.Run(ctx)
	}()
	return nil
}

// target is where the configuration in force has the log sent, nil for nowhere.
func target(m *management.Manager) (*decisionlogs.Target, error) {
	c := m.Config()
	if c.DecisionLogs == nil {
		return nil, nil
	}
	config, err := decisionlogs.ParseConfig(c.DecisionLogs)
	if err != nil {
		return nil, err
	}
	client := m.Client(config.Service)
	return &decisionlogs.Target{
		Config: config, Labels: m.Labels(),
		Post: func(ctx context.Context, path string, body []byte) (*http.Response, error) {
			return client.WithHeader("Content-Type", "application/json").WithHeader("Content-Encoding", "gzip").WithBytes(body).Do(ctx, http.MethodPost, path)
		},
	}, nil
}

func (l *journalling) end() error {
	if l.stop == nil { // it was never begun
		return nil
	}
	l.stop()
	<-l.done
	return l.journal.Close()
}

// decide adds decisions of the machine: those that the engine has made once, each with a number
// of its own.
func (l *journalling) decide(ctx context.Context, n int) error {
	for range n {
		r := *l.fleet.decisions[l.decided%len(l.fleet.decisions)]
		r.Time, r.Decision.ID = time.Now(), uuid.NewString()
		if err := l.journal.Append(ctx, &r); err != nil {
			return err
		}
		l.decided++
	}
	return nil
}

// try is decide on a machine that tries other rules.
func (l *journalling) try(ctx context.Context, n int) error {
	for range n {
		if l.fleet.differs[l.decided%len(l.fleet.decisions)] {
			l.different.Add(1)
		}
		l.compared.Add(1)
		if err := l.decide(ctx, 1); err != nil {
			return err
		}
	}
	return nil
}

// records is a journal in the form of package decisionlogs.
type records struct{ reader *journal.Reader }

// Read implements [decisionlogs.Source].
func (r records) Read(ctx context.Context, from decisionlogs.Position) (decisionlogs.Page, error) {
	p, err := feed.Read(ctx, r.reader, feed.Position(from))
	if err != nil {
		return decisionlogs.Page{}, err
	}
	out := decisionlogs.Page{Start: decisionlogs.Position(p.Start), Next: decisionlogs.Position(p.Next), Replaced: p.Replaced}
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

// commands are what agents on machines run.
var commands = []string{
	"git status", "go test ./...", "git log --oneline -5", "npm ci && npm test", "git push --force origin main", "rm -rf node_modules",
	"curl -s https://api.example.com/v1/items | jq .name", "sed -i s/a/b/ main.go",
}

// collected is a journal that keeps records.
type collected struct{ records []*decisions.Record }

// Append implements [decisions.Journal].
func (c *collected) Append(_ context.Context, recs ...*decisions.Record) error {
	c.records = append(c.records, recs...)
	return nil
}

// decide has the real engine decide commands by rules, and returns the records.
func decide(ctx context.Context, snap decisions.Snapshot, home string, commands []string) ([]*decisions.Record, error) {
	project := filepath.Join(home, "project")
	if err := os.MkdirAll(filepath.Join(project, ".git"), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(project, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		return nil, err
	}
	kept, fs, uid := new(collected), paths.OSFS{}, uint32(os.Geteuid())
	deps := native.Deps{
		Sessions: &decisions.Sessions{FindProject: func(_ uint32, cwd string) string { return paths.FindProject(fs, cwd, home) }},
		Decider:  shipped.Engine(snap, fs, paths.Own{}, 0, time.Now(), func(c *decisions.Config) { c.Journal, c.Deadline = kept, time.Minute }),
		Users: func(uint32) effects.User {
			return effects.User{UID: uid, Home: home, Env: map[string]string{"HOME": home}}
		},
	}
	methods := socket.Methods{}
	native.Register(methods, deps)
	conn := &socket.Conn{ID: 1, Peer: decisions.Peer{UID: uid, PID: int32(os.Getpid())}}
	send := func(method, params string) error {
		run, err := methods[method](conn, []byte(params))
		if err == nil && run != nil {
			_, err = run(ctx)
		}
		return err
	}
	err := send(native.MethodSession, fmt.Sprintf(`{"sessionId":"s","cwd":%q,"agent":{"name":"claude-agent-acp","version":"0.100.0"},"client":{"name":"fleet","version":"1"}}`, project))
	for n, command := range commands {
		err = errors.Join(err, send(native.MethodDecide, fmt.Sprintf(`{"sessionId":"s","calls":[{"callId":"c%d","tool":{"name":"Bash"},"input":{"command":%q}}]}`, n, command)))
	}
	if err == nil && len(kept.records) != len(commands) {
		err = fmt.Errorf("%d of %d calls were recorded", len(kept.records), len(commands))
	}
	return kept.records, err
}
