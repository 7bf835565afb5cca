// Package replay decides past calls again: those of the journal under changed rules, and
// those of a harness's own transcripts. It writes nothing but what it prints.
package replay

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/permd/permd/cmd/permd/internal/account"
	"github.com/permd/permd/cmd/permd/internal/arguments"
	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/xdg"
	"github.com/permd/permd/policy"
)

// decider decides calls by the rules on the disk, as they are when it is made. It must not
// be used concurrently; fork makes another one for that.
type decider struct {
	rules    *engine.Rules
	engine   *decisions.Engine
	users    *account.Users
	memory   *recorded
	now      time.Time
	made     *decisions.Deliberation
	ready    map[string]bool                     // projects whose rules are loaded
	find     func(uid uint32, cwd string) string // the project of a folder
	projects map[string]string                   // what find returned
	digest   string                              // of the rules of the latest decision
}

// newDecider returns a decider. userDir has the rules of the person, "" for those in their
// usual folder.
func newDecider(ctx context.Context, dirs xdg.Dirs, userDir string, relocated bool) (*decider, error) {
	return newDeciderOf(ctx, dirs, dirs, userDir, relocated)
}

// newDeciderOf is newDecider with the rules and settings of other folders.
func newDeciderOf(ctx context.Context, dirs, of xdg.Dirs, userDir string, relocated bool) (*decider, error) {
	rules, e, err := Open(ctx, dirs, of, userDir, relocated)
	if err != nil {
		return nil, err
	}
	d := &decider{rules: rules, engine: e.Decisions, users: e.Users, find: e.Sessions.FindProject}
	return d.fork()
}

// Open returns the rules and settings in the folders of, and an engine that decides by them as
// this machine would; userDir has the rules of the person, "" for those in their usual folder. It
// is an error if some of the rules cannot be used.
func Open(ctx context.Context, dirs, of xdg.Dirs, userDir string, relocated bool) (*engine.Rules, *engine.Engine, error) {
	if userDir == "" {
		userDir = filepath.Join(of.Config, account.PolicyDir)
	}
	rules, err := engine.OpenRulesIn(ctx, of, userDir, relocated, nil)
	if err != nil {
		return nil, nil, err
	}
	if st := rules.Status(); st.Degraded() {
		why := st.Settings
		for i := range st.Layers {
			if st.Layers[i].State == policy.StateDegraded {
				why = st.Layers[i].Error
			}
		}
		return nil, nil, cli.Failf(cli.ExitCompile, "permd policy check shows all problems", "the rules cannot be used: %s", why)
	}
	e, err := engine.New(engine.Config{Dirs: dirs, Rules: rules, Log: slog.New(slog.DiscardHandler)})
	return rules, e, err
}

// fork returns a decider by the same rules, which can be used at the same time.
func (d *decider) fork() (*decider, error) {
	f := &decider{rules: d.rules, users: d.users, memory: new(recorded), ready: map[string]bool{}, find: d.find, projects: map[string]string{}}
	e, err := d.engine.With(func(c *decisions.Config) {
		c.Memory, c.Proposer = f.memory, nil
		c.Now = func() time.Time { return f.now }
		c.NewID = func() string { return uuid.Nil.String() }
		c.Observe = func(made *decisions.Deliberation) { f.made = made }
	})
	if err != nil {
		return nil, fmt.Errorf("making an engine: %w", err)
	}
	f.engine = e
	return f, nil
}

// decide decides a call; made is nil after a failure.
func (d *decider) decide(ctx context.Context, req *decisions.Request, project string, at time.Time) (dec *decisions.Decision, made *decisions.Deliberation) {
	if !d.ready[project] {
		_ = d.rules.Prepare(ctx, req.Peer.UID, project) // what is broken asks
		d.ready[project] = true
	}
	d.now, d.made = at, nil
	req.Unrecorded = true
	if req.Recent == 0 {
		req.Recent = 1
	}
	user := d.users.Lookup(req.Peer.UID)
	req.Call.User = user
	dec = d.engine.Decide(ctx, req)[0]
	if dec.By == decisions.ByFailure && dec.Policy.Digest == "" && project != "" {
		// Rules of so many projects are not kept at once.
		_ = d.rules.Prepare(ctx, req.Peer.UID, project)
		d.made = nil
		dec = d.engine.Decide(ctx, req)[0]
	}
	d.digest = dec.Policy.Digest
	return dec, d.made
}

// decideIn decides a call whose project is not known yet.
func (d *decider) decideIn(ctx context.Context, req *decisions.Request, at time.Time) (*decisions.Decision, *decisions.Deliberation) {
	project := ""
	if req.Call.Cwd != "" {
		var known bool
		if project, known = d.projects[req.Call.Cwd]; !known {
			project = d.find(req.Peer.UID, req.Call.Cwd)
			d.projects[req.Call.Cwd] = project
		}
	}
	return d.decide(ctx, req, project, at)
}

// Record decides the call of a record again, with the choices that answered it then. why is
// why it cannot be.
func (d *decider) Record(ctx context.Context, rec *decisions.Record, c *arguments.Call, recent int) (dec *decisions.Decision, made *decisions.Deliberation, why string) {
	dec, made, why = d.again(ctx, rec, c, recent)
	if why == "" && dec.Policy.Digest == rec.Decision.Policy.Digest && dec.Verdict != rec.Decision.Verdict {
		return nil, nil, unrepeatable
	}
	return dec, made, why
}

// again is Record, also where the same rules decide otherwise than they did.
func (d *decider) again(ctx context.Context, rec *decisions.Record, c *arguments.Call, recent int) (dec *decisions.Decision, made *decisions.Deliberation, why string) {
	if why = Undecidable(rec, c, d.rules.Settings.NoArguments); why != "" {
		return nil, nil, why
	}
	req := &decisions.Request{Call: c.Call, Peer: decisions.Peer{UID: rec.Peer.UID, GID: rec.Peer.GID}, Session: rec.Session, Recent: recent}
	d.memory.of(rec)
	dec, made = d.decide(ctx, req, rec.Project, rec.Time)
	d.memory.of(nil)
	switch {
	case made == nil || dec.By == decisions.ByFailure:
		return nil, nil, "deciding it failed: " + dec.Reason
	case !SameEffects(rec.Decision.Effects, dec.Effects):
		return nil, nil, OtherEffects
	}
	return dec, made, ""
}

// Why a record is not decided again.
const (
	OtherEffects = "its files, or permd's own tables, are others now, so that it would do something else"
	unrepeatable = "the rules of then decide it otherwise now: files, choices or earlier calls that it depended on are others"
	cut          = "its record is cut"
	unreadable   = "its record cannot be read"
	notByRules   = "a failure, a pause, a lock or an answer to an earlier question decided it"
)

// Undecidable returns why a record cannot be decided again, "" if it may be. off is set if no
// arguments are kept.
func Undecidable(rec *decisions.Record, c *arguments.Call, off bool) string {
	switch {
	case rec.Unreadable != "":
		return unreadable
	case rec.LeftOut > 0:
		return cut
	case slices.Contains([]decisions.DecidedBy{decisions.ByFailure, decisions.ByPause, decisions.ByLock, decisions.ByHuman}, rec.Decision.By):
		return notByRules
	case c == nil && off:
		return arguments.Off
	case c == nil:
		return arguments.Missing
	}
	return c.Why
}

// SameEffects reports whether two decisions are about the same effects. What follows them
// are hints, which are only there if they count.
func SameEffects(a, b []decisions.EffectDecision) bool {
	n := min(len(a), len(b))
	return n > 0 && slices.EqualFunc(a[:n], b[:n], func(a, b decisions.EffectDecision) bool {
		return a.Kind == b.Kind && a.Text == b.Text && a.From == b.From && slices.Equal(a.Tags, b.Tags)
	})
}

// recorded is a memory with the choices that a record names.
type recorded struct {
	choices map[question]*decisions.Choice
	rejects map[question]*decisions.Choice
}

type question struct {
	kind effects.Kind
	text string
}

// of sets the record; nil for none.
func (m *recorded) of(rec *decisions.Record) {
	clear(m.choices)
	clear(m.rejects)
	if rec == nil {
		return
	}
	for i := range rec.Decision.Effects {
		e := &rec.Decision.Effects[i]
		if e.ChoiceID == "" {
			continue
		}
		at := question{e.Kind, e.Text}
		label := strings.TrimPrefix(e.Reason, "remembered: ")
		switch e.Row {
		case decisions.RowRemembered:
			if m.choices == nil {
				m.choices = map[question]*decisions.Choice{}
			}
			m.choices[at] = &decisions.Choice{ID: e.ChoiceID, Exact: true, Label: label}
		case decisions.RowReject:
			if m.rejects == nil {
				m.rejects = map[question]*decisions.Choice{}
			}
			m.rejects[at] = &decisions.Choice{ID: e.ChoiceID, Label: label}
		default: // it was allowed with its run, which is among the effects
		}
	}
}

// Match implements [decisions.Memory].
func (m *recorded) Match(q *decisions.MemoryQuery) (reject, allow *decisions.Choice, err error) {
	at := question{q.Effect.Kind, q.Effect.Text}
	return m.rejects[at], m.choices[at], nil
}
