package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/settings"
	"github.com/permd/permd/rego"
)

// judge decides command lines with the shipped rules and no others.
type judge struct {
	snap decisions.Snapshot
}

func newJudge(ctx context.Context, dir string) (*judge, error) {
	rules := filepath.Join(dir, "policy.d")
	if err := os.Mkdir(rules, 0o700); err != nil {
		return nil, fmt.Errorf("making a folder for rules: %w", err)
	}
	store, err := policy.Open(ctx, policy.Options{
		UserDir: func(uint32) (string, error) { return rules, nil }, UID: uint32(os.Geteuid()),
		Base: rego.Base(), Schema: rego.InputSchema(), Programs: rego.Programs(), Profiles: rego.Profiles(),
		Switches: func() (policy.Switches, error) { return policy.Switches{Profile: settings.ProfileBalanced}, nil },
	})
	if err != nil {
		return nil, fmt.Errorf("loading the shipped rules: %w", err)
	}
	if _, err := store.Reload(ctx); err != nil {
		return nil, fmt.Errorf("loading the shipped rules: %w", err)
	}
	snap, err := store.Snapshot(uint32(os.Geteuid()), "")
	if err != nil {
		return nil, fmt.Errorf("loading the shipped rules: %w", err)
	}
	return &judge{snap}, nil
}

// fixedPolicy is a policy that never changes. noMemory remembers nothing, and
// noJournal records nothing.
type fixedPolicy struct{ snap decisions.Snapshot }

func (f fixedPolicy) Snapshot(uint32, string) (decisions.Snapshot, error) { return f.snap, nil }

type noMemory struct{}

func (noMemory) Match(*decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	return nil, nil, nil
}

type noJournal struct{}

func (noJournal) Append(context.Context, ...*decisions.Record) error { return nil }

// errUndecided means that the engine answered with a failure, which asks or denies.
var errUndecided = errors.New("permd could not decide")

// decide returns the decision on a command line in a project on the real file
// system, with the call's effects.
func (j *judge) decide(ctx context.Context, w *place, words []string) (decisions.Verdict, []effects.Effect, error) {
	input, err := json.Marshal(map[string]string{"command": quoted(words)})
	if err != nil {
		return "", nil, fmt.Errorf("writing a call: %w", err)
	}
	n := 0
	// As the daemon sees it, with all folders read.
	fs := paths.NewIndex(machine{etc: w.etc}, time.Now)
	fs.Background = func(task func()) { task() }
	e, err := decisions.NewEngine(decisions.Config{
		Policy: fixedPolicy{j.snap}, Memory: noMemory{}, Journal: noJournal{}, FS: fs, PID: os.Getpid(),
		Now: time.Now, Log: slog.New(slog.DiscardHandler), NewID: func() string { n++; return strconv.Itoa(n) },
	})
	if err != nil {
		return "", nil, err
	}
	uid := user()
	env := map[string]string{"HOME": w.home, "USER": "dev"}
	if w.xdg {
		env["XDG_CONFIG_HOME"] = filepath.Join(w.home, "xdg")
	}
	r := &decisions.Request{
		Peer: decisions.Peer{UID: uid, PID: 7},
		Call: effects.Call{
			ID: "call", Protocol: "permd", Tool: effects.Tool{Name: "Bash"}, Agent: effects.Party{Name: "claude-agent-acp"}, Input: input, Cwd: w.project,
			User: effects.User{UID: uid, Name: "dev", Home: w.home, Env: env},
		},
		Session: decisions.SessionRef{ID: "session", Conn: 1},
	}
	got := e.Decide(ctx, r)
	if len(got) != 1 || got[0].By == decisions.ByFailure {
		return "", nil, fmt.Errorf("%w about %s", errUndecided, quoted(words))
	}
	world := tools.World{FS: fs, Table: j.snap.Table(), Profiles: j.snap.Profiles()}
	return got[0].Verdict, world.Effects(&r.Call).Effects, nil
}

// machine is the machine's file system with other settings of git for the whole system.
type machine struct {
	paths.OSFS
	etc string // the folder that they are in, "" for the machine's own
}

// ReadFile implements [effects.FS].
func (m machine) ReadFile(file string, limit int64) ([]byte, error) {
	if m.etc != "" && file == "/etc/gitconfig" {
		file = filepath.Join(m.etc, "gitconfig")
	}
	return m.OSFS.ReadFile(file, limit)
}
