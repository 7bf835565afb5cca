// Package engine makes what decides on this machine: the rules and settings of
// its person, decisions.Engine on them, sessions, and the methods of all protocols.
// The daemon gives it a memory and a journal; commands that only try something out
// give it neither, and nothing remains of what they decide.
package engine

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/socket/native"
)

// Config is what an engine is made of.
type Config struct {
	Dirs  xdg.Dirs
	Rules *Rules
	Log   *slog.Logger

	// Memory is what people chose; nil remembers nothing and offers nothing.
	Memory Memory
	// Journal takes the decisions; nil logs none.
	Journal decisions.Journal
	// PID is the daemon's process, which no call may end; 0 when there is none.
	PID int
	// Persistent lets sessions of harnesses outlive their connections, and their
	// questions be answered elsewhere.
	Persistent bool

	// Observe is shown what each decision was made of, Ran the calls that ran
	// without having been asked about, Answered what a person said. Each may be
	// nil.
	Observe  func(*decisions.Deliberation)
	Ran      func(agent effects.Party, d *decisions.Decision)
	Answered func(ctx context.Context, decisionID string, v decisions.Verdict, kept []decisions.StoredChoice)
}

// Memory is what an engine asks of remembered choices, and gives new ones to.
type Memory interface {
	decisions.Memory
	decisions.Proposer
	decisions.Keeper
}

// Engine decides calls with the rules of this machine, in sessions.
type Engine struct {
	rules     *Rules
	Users     *account.Users
	Sessions  *decisions.Sessions
	Decisions *decisions.Engine
	FS        effects.FS // that the engine looks at
	Mounts    *mounts.FS // which FS looks through
	NotPlain  *decisions.NotPlain
	// Persistent holds the sessions of harnesses; nil if they end with their
	// connections.
	Persistent *native.PersistentSessions

	config Config
}

// New makes an engine. Until ProtectSockets it protects permd's folders.
func New(c Config) (*Engine, error) {
	e := &Engine{
		rules: c.Rules, Users: &account.Users{}, Mounts: c.Rules.Mounts, NotPlain: new(decisions.NotPlain), config: c,
	}
	e.FS = paths.NewIndex(e.Mounts, time.Now)
	home := e.Users.Lookup(uint32(os.Geteuid())).Home
	e.Sessions = &decisions.Sessions{FindProject: func(cwd string) string {
		return paths.FindProject(e.FS, cwd, home)
	}}
	of := decisions.Config{
		Policy: c.Rules, Memory: noMemory{}, Journal: NoJournal{},
		FS: e.FS, Own: e.own(Sockets{}), PID: c.PID, System: c.Dirs.System,
		Now: time.Now, NewID: newID, Log: c.Log, Cache: new(decisions.Cache), NotPlain: e.NotPlain,
		Deadline:   time.Duration(c.Rules.Settings.Limits.DecisionMilliseconds) * time.Millisecond,
		Unattended: c.Rules.Unattended, Observe: c.Observe,
	}
	if c.Memory != nil {
		of.Memory, of.Proposer = c.Memory, c.Memory
	}
	if c.Journal != nil {
		of.Journal = c.Journal
	}
	if c.Persistent {
		e.keepSessions()
		of.TakeApproval, of.Digest = e.Persistent.TakeGrant, bounded(e.Mounts, contentState)
	}
	var err error
	if e.Decisions, err = decisions.NewEngine(of); err != nil {
		return nil, err
	}
	return e, nil
}

// ProtectSockets says where the daemon listens, before it does, so that no call
// changes that.
func (e *Engine) ProtectSockets(at Sockets) { e.Decisions.Protect(e.own(at)) }

// Keeper stores what people choose, nil in an engine without memory.
func (e *Engine) Keeper() decisions.Keeper {
	if e.config.Memory == nil {
		return nil
	}
	return e.config.Memory
}

// newID is a version 7 UUID: unique, and sorted by time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// own is all that is permd's, when it listens there.
func (e *Engine) own(at Sockets) paths.Own {
	return paths.OwnFiles(ownFiles(e.config.Dirs, at)...).WithProgram(ownPrograms(), programFolders(e.Users.Lookup(uint32(os.Geteuid())).Home))
}

// noMemory is the memory of an engine that has none.
type noMemory struct{}

// Match finds nothing.
func (noMemory) Match(*decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	return nil, nil, nil
}

// NoJournal is the journal of decisions that are not to be enforced.
type NoJournal struct{}

// Append drops the records.
func (NoJournal) Append(context.Context, ...*decisions.Record) error { return nil }
