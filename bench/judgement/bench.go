package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/rego"
	"github.com/permd/permd/remember"
)

// bench is what all measurements share.
type bench struct {
	dir     string // of rules and memories, removed at the end
	profile string
	shipped decisions.Snapshot // of the profile, without rules of a person
	now     time.Time
	found   findings

	mu     sync.Mutex
	stores map[bool]*policy.Store // by userRules.paths
	rules  map[userRules]decisions.Snapshot
	count  int // of memories
}

// newBench loads the shipped rules.
func newBench(ctx context.Context, profile string) (*bench, error) {
	if !slices.Contains([]string{policy.ProfileCareful, policy.ProfileBalanced, policy.ProfileUnattended}, profile) {
		return nil, fmt.Errorf("there is no profile %q", profile)
	}
	dir, err := os.MkdirTemp("", "permd-judgement-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for rules: %w", err)
	}
	b := &bench{
		dir: dir, profile: profile, now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
		stores: map[bool]*policy.Store{}, rules: map[userRules]decisions.Snapshot{},
	}
	if err := os.Mkdir(b.rulesDir(), 0o700); err != nil {
		return nil, errors.Join(err, b.close())
	}
	if b.shipped, err = b.with(ctx, userRules{}); err != nil {
		return nil, errors.Join(fmt.Errorf("loading the shipped rules: %w", err), b.close())
	}
	return b, nil
}

// store returns the shipped rules, without what they allow of the project's
// files if paths is set, loading them the first time. The caller holds the lock.
func (b *bench) store(ctx context.Context, paths bool) (*policy.Store, error) {
	if s := b.stores[paths]; s != nil {
		return s, nil
	}
	sw := policy.Switches{Profile: b.profile}
	if paths {
		sw.Disable = []string{"base.read-project"}
		if b.profile != policy.ProfileCareful {
			sw.Disable = append(sw.Disable, "base.edit")
		}
	}
	s, err := policy.Open(ctx, policy.Options{
		UserDir: func(uint32) (string, error) { return b.rulesDir(), nil },
		UID:     uint32(os.Geteuid()), // whom the rules must belong to
		Base:    rego.Base(), Schema: rego.InputSchema(), Programs: rego.Programs(), Profiles: rego.Profiles(),
		Switches: func() (policy.Switches, error) { return sw, nil },
	})
	if err == nil {
		b.stores[paths] = s
	}
	return s, err
}

func (b *bench) rulesDir() string { return filepath.Join(b.dir, "policy.d") }

// close removes what was made.
func (b *bench) close() error {
	var errs []error
	for _, dir := range []string{b.rulesDir(), b.dir} {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		errs = append(errs, err)
		for _, e := range entries {
			errs = append(errs, os.Remove(filepath.Join(dir, e.Name())))
		}
		if dir == b.dir {
			errs = append(errs, os.Remove(dir))
		}
	}
	return errors.Join(errs...)
}

// userRules are the rules of a person: a list and a policy, either may be "".
type userRules struct {
	list, rego string
	paths      bool // they say which files may be touched
}

// with returns the shipped rules with those of a person. Where
// these say which files may be touched, the shipped allows for the files of the
// project are off, as such a person would switch them off: what is tested is
// what their own rules allow.
func (b *bench) with(ctx context.Context, r userRules) (decisions.Snapshot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if snap := b.rules[r]; snap != nil {
		return snap, nil
	}
	// A file without rules is not an empty one, which would look as if it was
	// just being written.
	for name, text := range map[string]string{"rules.yaml": cmp.Or(r.list, "# none\n"), "user.rego": cmp.Or(r.rego, "package permd.user\n")} {
		file := filepath.Join(b.rulesDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("writing rules: %w", err)
		}
		// Files that have just been written are waited for.
		if err := errors.Join(os.Chtimes(file, b.now, b.now), os.Chtimes(b.rulesDir(), b.now, b.now)); err != nil {
			return nil, fmt.Errorf("writing rules: %w", err)
		}
	}
	store, err := b.store(ctx, r.paths)
	if err != nil {
		return nil, err
	}
	if _, err := store.Reload(ctx); err != nil {
		return nil, fmt.Errorf("loading a person's rules: %w\n%s%s", err, r.list, r.rego)
	}
	snap, err := store.Snapshot(uid, "")
	if err != nil {
		return nil, err
	}
	b.rules[r] = snap
	return snap, nil
}

// fixed is a policy that is always the same.
type fixed struct{ snap decisions.Snapshot }

func (f fixed) Snapshot(uint32, string) (decisions.Snapshot, error) { return f.snap, nil }

// forgetful is a memory of nothing, dropped a journal of nothing.
type forgetful struct{}

func (forgetful) Match(*decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	return nil, nil, nil
}

type dropped struct{}

func (dropped) Append(context.Context, ...*decisions.Record) error { return nil }

// engine is the real engine on a machine in memory. It remembers nothing when
// memory is nil.
func (b *bench) engine(w *world, snap decisions.Snapshot, memory *remember.Store) *decisions.Engine {
	n := 0
	e := &decisions.Engine{
		Policy: fixed{snap}, Memory: forgetful{}, Journal: dropped{}, FS: effects.NewIndex(w.fs, time.Now), Own: w.own(), PID: daemonPID,
		Now: func() time.Time { return b.now }, Log: slog.New(slog.DiscardHandler),
		NewID: func() string { n++; return strconv.Itoa(n) },
	}
	if memory != nil {
		e.Memory, e.Proposer = memory, memory
	}
	return e
}

// memory opens an empty memory.
func (b *bench) memory(table *effects.Table) (*remember.Store, error) {
	b.mu.Lock()
	b.count++
	name := fmt.Sprintf("memory%d.db", b.count)
	b.mu.Unlock()
	return remember.Open(remember.Options{
		Path: filepath.Join(b.dir, name), Now: func() time.Time { return b.now },
		Allowable: func(q *decisions.MemoryQuery) error { return remember.AllowableRun(table, q) },
	})
}

// call is one tool call of a corpus.
type call struct {
	tool   string
	server string
	agent  string
	input  []byte
	cwd    string
	parent string
}

func (w *world) request(c *call) *decisions.Request {
	r := &decisions.Request{
		Peer: decisions.Peer{UID: uid, PID: 7},
		Call: effects.Call{
			ID: "call", Protocol: "permd", Tool: effects.Tool{Name: c.tool, Server: c.server}, Agent: effects.Party{Name: c.agent},
			Input: c.input, Cwd: c.cwd, User: w.user(),
		},
		Session: decisions.SessionRef{ID: "session", Conn: 1},
	}
	if c.parent != "" {
		r.Session.Ancestors = []string{c.parent}
	}
	return r
}

// outcome is a decision with the effects that it was made of.
type outcome struct {
	*decisions.Decision
	request *decisions.Request
	effects []effects.Effect
}

// decide decides a call.
func decide(ctx context.Context, e *decisions.Engine, snap decisions.Snapshot, r *decisions.Request) outcome {
	w := effects.World{FS: e.FS, Own: e.Own, Table: snap.Table(), Profiles: snap.Profiles()}
	o := outcome{Decision: e.Decide(ctx, r)[0], request: r}
	if o.By != decisions.ByFailure {
		o.effects = w.Of(&r.Call).Effects
	}
	return o
}

// shown is a call as it is printed, on one line.
func shown(tool string, input []byte) string {
	const most = 300
	s := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, tool+" "+string(input))
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return effects.Display(s)
}
