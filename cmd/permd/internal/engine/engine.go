// Package engine assembles what decides on this machine: rules and settings of its user,
// decisions.Engine, sessions, and the methods of all protocols. The daemon gives it a
// memory and a journal. Commands that only try something out give it neither, and their
// decisions leave no trace.
package engine

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/mounts"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/recent"
	"github.com/permd/permd/decisions/underway"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/socket/native"
)

// Config is the configuration of an engine.
type Config struct {
	Dirs  xdg.Dirs
	Rules *Rules
	Log   *slog.Logger

	// Memory holds the remembered choices. If it is nil, nothing is remembered or offered
	// to remember.
	Memory Memory
	// Journal stores the decisions; nil means that none are stored.
	Journal decisions.Journal
	// PID is the daemon's process, which no call may end; 0 if there is none.
	PID int
	// Persistent lets the sessions of harnesses outlive their connections, and lets their
	// questions be answered on the management socket.
	Persistent bool
	// Now is the clock; time.Now if nil.
	Now func() time.Time

	// Pause returns the pause or lock of a user that is in force; nil if nothing ever is.
	Pause func(uid uint32) *decisions.Pause

	// Changes notifies clients of what has changed; nil means that none is notified.
	Changes *native.Changes

	// Recent counts calls; it may be nil.
	Recent *recent.Calls

	// Underway knows the requests that are being decided; it may be nil.
	Underway *underway.Requests

	// Shadow tries other rules on decided calls; it may be nil.
	Shadow decisions.Shadow

	// Observe is called with the deliberation of each decision, Ran for calls that ran
	// without having been asked about, and Answered with the person's answers. Each may
	// be nil.
	Observe  func(*decisions.Deliberation)
	Ran      func(agent effects.Party, d *decisions.Decision)
	Answered func(ctx context.Context, decisionID string, v decisions.Verdict, by author.Identity, kept []decisions.StoredChoice) error
	// HasRun is called when the call of a question was reported to have run. May be nil.
	HasRun func(ctx context.Context, decisionID string)
	// HasEnded is called when it was reported how the call of a decision ended. May be nil.
	HasEnded func(ctx context.Context, decisionID, as string) error
}

// Memory holds remembered choices: it finds those that match and stores new ones.
type Memory interface {
	decisions.Memory
	decisions.Proposer
	decisions.Keeper
}

// Engine decides calls in sessions, by the rules of this machine.
type Engine struct {
	rules     *Rules
	Users     *account.Users
	Sessions  *decisions.Sessions
	Decisions *decisions.Engine
	FS        effects.FS // the file system as the engine sees it
	Mounts    *mounts.FS // what FS reads through
	NotPlain  *decisions.NotPlain
	// Persistent holds the sessions of harnesses, nil if they end with their connections.
	Persistent *native.PersistentSessions
	// Waiting are the questions that clients wait for an answer to, nil where Persistent is.
	Waiting *native.WaitingQuestions

	config Config
}

// New returns an engine. It protects permd's own folders; ProtectSockets adds the
// sockets of a daemon.
func New(c Config) (*Engine, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	e := &Engine{
		rules: c.Rules, Users: &account.Users{}, Mounts: c.Rules.Mounts, NotPlain: new(decisions.NotPlain), config: c,
	}
	e.FS = paths.NewIndex(e.Mounts, time.Now)
	home := e.Users.Lookup(uint32(os.Geteuid())).Home
	e.Sessions = &decisions.Sessions{FindProject: func(uid uint32, cwd string) string {
		if !c.Dirs.System {
			return paths.FindProject(e.FS, cwd, home)
		}
		u := e.Users.Lookup(uid)
		project := paths.FindProject(e.FS, cwd, u.Home)
		// The daemon may read more than the person: rules of a project that they cannot enter are
		// neither theirs nor anything that they may learn of.
		may, err := mounts.Look(e.Mounts, project, func(dir string) (bool, error) { return account.MaySearch(&u, dir) })
		if err != nil || !may {
			return ""
		}
		return project
	}}
	of := decisions.Config{
		Policy: c.Rules, Memory: noMemory{}, Journal: noJournal{},
		FS: e.FS, Own: e.ownPaths(Sockets{}), PID: c.PID, System: c.Dirs.System, Machine: thisMachine,
		Now: c.Now, NewID: newID, Log: c.Log, Cache: new(decisions.Cache), NotPlain: e.NotPlain,
		OnLogFailure: c.Rules.Settings.OnLogFailure,
		Deadline:     time.Duration(c.Rules.Settings.Limits.DecisionMilliseconds) * time.Millisecond,
		Unattended:   c.Rules.Unattended, Observe: c.Observe, Underway: c.Underway, Pause: e.pauseOf, Recent: c.Recent, Shadow: c.Shadow,
	}
	if c.Memory != nil {
		of.Memory, of.Proposer = c.Memory, c.Memory
	}
	if c.Journal != nil {
		of.Journal = c.Journal
	}
	if c.Persistent {
		e.keepSessions()
		e.Waiting = new(native.WaitingQuestions)
		of.TakeApproval, of.Digest = e.Persistent.TakeGrant, bounded(e.Mounts, contentState)
	}
	var err error
	if e.Decisions, err = decisions.NewEngine(of); err != nil {
		return nil, err
	}
	return e, nil
}

// ProtectSockets protects the sockets of the daemon from calls. It is called before the
// daemon listens.
func (e *Engine) ProtectSockets(at Sockets) { e.Decisions.Protect(e.ownPaths(at)) }

// Keeper returns the store of remembered choices, nil if the engine has no memory.
func (e *Engine) Keeper() decisions.Keeper {
	if e.config.Memory == nil {
		return nil
	}
	return e.config.Memory
}

// newID returns a version 7 UUID: unique and sorted by time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// ownPaths returns everything that belongs to permd, if it listens on those sockets.
func (e *Engine) ownPaths(at Sockets) paths.Own {
	return paths.OwnFiles(ownFiles(e.config.Dirs, at)...).WithProgram(ownPrograms(), programFolders(e.Users.Lookup(uint32(os.Geteuid())).Home))
}

// noMemory is a memory without choices.
type noMemory struct{}

// Match returns no match.
func (noMemory) Match(*decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	return nil, nil, nil
}

// noJournal is a journal that stores nothing, for decisions that are not enforced.
type noJournal struct{}

// Append discards the records.
func (noJournal) Append(context.Context, ...*decisions.Record) error { return nil }
