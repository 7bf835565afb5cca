// Package trusttrial decides what the list of a project would allow if a person trusted it: calls that
// its entries speak of are decided by the rules that would be in force then. Nothing is recorded or
// counted, and no answer of it reaches an agent.
package trusttrial

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/permd/permd/cmd/permd/internal/engine"
	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/policy"
	"github.com/permd/permd/policy/list"
	"github.com/permd/permd/policy/source"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/native"
)

// Bounds of a trial: how many entries are tried, and for how long. The others are returned without a
// verdict.
const (
	maxEntries = 1000
	within     = 5 * time.Second
)

// Trial decides what lists would allow, one list at a time.
type Trial struct {
	engine *engine.Engine
	rules  *policy.Store
	busy   chan struct{} // has an element during a trial
}

// New returns a Trial of an engine and its rules.
func New(e *engine.Engine, rules *policy.Store) *Trial {
	return &Trial{engine: e, rules: rules, busy: make(chan struct{}, 1)}
}

// errNoProject is the error for a root that is none of a project of the person.
var errNoProject = errors.New("it is no root of a project")

// Entries returns the entries of a list that a project may allow, in the order of the list, each with
// what would be decided about a call that it speaks of. text is the list in the root of the project,
// which must be the present one. rejects are the person's remembered rejects, which count; their
// allows do not. It waits for other trials as long as the context lasts.
func (t *Trial) Entries(ctx context.Context, peer decisions.Peer, root string, text []byte, rejects decisions.Memory) ([]admin.TriedEntry, error) {
	select {
	case t.busy <- struct{}{}:
		defer func() { <-t.busy }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if t.engine.Sessions.FindProject(peer.UID, root) != root {
		return nil, errNoProject
	}
	entries, err := list.Parse(filepath.Join(root, ".permd", source.ListName), text)
	if err != nil {
		return nil, fmt.Errorf("reading the list: %w", err)
	}
	snap, err := t.rules.TrustTrial(ctx, peer.UID, root, text)
	if err != nil {
		return nil, err
	}
	d, err := t.engine.Decisions.With(func(c *decisions.Config) {
		lock := c.Pause
		c.Detach()
		c.Policy, c.Memory, c.Proposer, c.Digest = only{snap, root}, rejects, nil, nil
		c.Pause = func(uid uint32) *decisions.Pause { return lockAlone(lock(uid)) }
	})
	if err != nil {
		return nil, err
	}
	tried := []admin.TriedEntry{}
	end := time.Now().Add(within)
	for i := range entries {
		e := &entries[i]
		if e.Set != decisions.SetAllow || !e.ProjectMayAllow() {
			continue
		}
		is := admin.TriedEntry{Kind: e.Kind, Line: e.Pattern.String(), At: e.Line, Example: several(e.Pattern)}
		if len(tried) < maxEntries && time.Now().Before(end) {
			if err := t.try(ctx, d, peer, root, callsOf(e.Pattern, root, snap.Table()), &is); err != nil {
				return nil, err
			}
		}
		tried = append(tried, is)
	}
	return tried, nil
}

// try decides calls until one is allowed by the list, and notes that one; else one that is allowed
// anyway, or the first.
func (t *Trial) try(ctx context.Context, d *decisions.Engine, peer decisions.Peer, root string, calls []call, is *admin.TriedEntry) error {
	for i, c := range calls {
		if err := ctx.Err(); err != nil {
			return err
		}
		got := d.Decide(ctx, &decisions.Request{
			Call: effects.Call{
				ID: "trial", Protocol: native.Protocol, Agent: effects.Party{Name: agent}, Tool: effects.Tool{Name: c.tool},
				Input: c.input, Cwd: root, User: t.engine.Users.Lookup(peer.UID),
			},
			Peer: peer, Session: decisions.SessionRef{ID: "trial"}, Recent: 1, Unrecorded: true,
		})[0]
		byList := got.Verdict == decisions.Allow && byProject(got)
		if i == 0 || byList || got.Verdict == decisions.Allow && is.Verdict != decisions.Allow {
			is.Call = &admin.TriedCall{Agent: agent, Tool: c.tool, Input: c.input, Text: c.text}
			is.Verdict, is.Reason = got.Verdict, got.Reason
		}
		if byList {
			break
		}
	}
	return nil
}

// byProject reports whether a rule of the project allows something of a call.
func byProject(d *decisions.Decision) bool {
	return slices.ContainsFunc(d.Effects, func(e decisions.EffectDecision) bool {
		return slices.ContainsFunc(e.Rules, func(r decisions.RuleRef) bool { return r.Layer == decisions.Project })
	})
}

// lockAlone returns a lock, and nil for a pause, which ends.
func lockAlone(p *decisions.Pause) *decisions.Pause {
	if p == nil || !p.Locked {
		return nil
	}
	return p
}

// only is the policy of the calls in one project.
type only struct {
	snap decisions.Snapshot
	root string
}

// Snapshot implements [decisions.Policy].
func (p only) Snapshot(_ uint32, project string) (decisions.Snapshot, error) {
	if project != p.root {
		return nil, errors.New("the call is in another project")
	}
	return p.snap, nil
}
