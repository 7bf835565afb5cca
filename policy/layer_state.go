package policy

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/rules"
	"github.com/permd/permd/policy/source"
)

// State is the condition of a layer.
type State string

// The states of a layer.
const (
	StateOK       State = "ok"
	StateDegraded State = "degraded" // its files are broken; the last good rules are in use
	StateAbsent   State = "absent"   // it has no files
)

// layerState is the state of one layer at one place when its files were last
// read. It is immutable; reading the files again makes a new one.
type layerState struct {
	layer   decisions.Layer
	uid     uint32
	project string // root of the project, for project layers
	dirs    []string
	org     *layerState // the org layer, for the layers of users and projects

	active      *rules.Layer  // nil when the layer has never been good
	digest      string        // of the files that active was compiled from
	files       int           // number of these files
	nonEmpty    []source.File // those of them that are not blank
	quarantined []string      // names of those whose allows do not count at the moment
	// doubted says when quarantined files were first read empty, or not found.
	doubted    map[string]time.Time
	lastDigest string // digest of the files last read
	state      State
	problems   diag.List // why it is degraded
	since      time.Time
	folders    []string  // folders that were read
	recheckAt  time.Time // when to read again without an event, zero for never
	seen       *source.Seen

	shadow    bool       // its rules are only tried
	candidate *candidate // the bundle that they are of, nil for none

	delivered []source.File // files that are in no folder
	missing   string        // why there are none, see [Delivered]

	grounds  grounds    // of projects: why its allows may count
	assessed assessment // what they came to with the files last read

	used *atomic.Int64 // when it was last requested, in ticks of the store
}

// loadOptions control how the files of a layer are read.
type loadOptions struct {
	deadline  time.Time // how long to wait for files that are changing
	immediate bool      // a person requested a reload now
	digest    string    // that the rules outside of projects must have, "" for any
}

func (d *delays) emptyGrace(how loadOptions) time.Duration {
	if how.immediate {
		return d.reloadEmpty
	}
	return d.empty
}

// refresh reads a layer's files again and, if they have changed, compiles and
// tests them. After any failure the last good rules stay in use.
func (s *Store) refresh(ctx context.Context, prev *layerState, how loadOptions) *layerState {
	next := *prev
	if len(prev.dirs) == 0 && prev.state == StateDegraded {
		return &next // its folder is not known
	}
	next.quarantined, next.doubted, next.recheckAt, next.seen = nil, nil, time.Time{}, nil
	if next.layer == decisions.Project {
		next.grounds = s.grounds(layerKey{next.uid, next.project}, &s.state.Load().switches)
	}
	begun := time.Now()
	r, stable := s.read(ctx, prev.withGrounds(&next.grounds), how)
	next.folders = r.dirs
	if !stable || r.problems.Failed() {
		next.quarantined, next.doubted = prev.quarantined, prev.doubted
	}
	switch {
	case !stable:
		return next.markUnstable(s.opts.now())
	case r.problems.Failed():
		next.lastDigest = ""
		return next.degrade(r.problems, s.opts.now())
	case len(next.folders) == 0 && prev.active != nil && !prev.active.IsEmpty() && prev.layer != decisions.Project && (prev.delivered == nil || prev.hasLocal()):
		// The folder disappeared while its rules were in use. Nobody removes
		// rules that way on purpose, and a deny must not vanish by accident.
		var ps diag.List
		stay := "stay in use"
		if prev.shadow {
			stay = "are still evaluated as shadow rules"
		}
		ps.FileErrorf(prev.dirs[0], "leave an empty folder to have no rules", "the folder is gone; its rules %s", stay)
		next.lastDigest = ""
		return next.degrade(ps, s.opts.now())
	}
	if d := prev.recentlyEmptied(r, begun, time.Now(), s.delays.emptyGrace(how)); d != nil {
		return s.quarantine(ctx, &next, d, s.opts.now())
	}
	built := s.build(ctx, &next, r.files, nil)
	if built.active != nil && built.digest == built.lastDigest {
		built.nonEmpty = source.NonEmpty(r.files)
		if s.opts.Files != nil && built.state != StateDegraded {
			built.seen = source.See(looker{s.opts.Files}, s.rulesOf(built), begun, built.dirs, r.dirs, r.files)
		}
	}
	return built
}

// build compiles the layer from the files that were read, unless it was already
// built from the same ones.
func (s *Store) build(ctx context.Context, next *layerState, files []source.File, disable []string) *layerState {
	digest := next.digestOf(files, disable)
	next.assessed = next.assess(files)
	switch {
	case digest == next.lastDigest:
		return next // unchanged, good or bad
	case next.active != nil && digest == next.digest:
		next.lastDigest = digest // reverted to the rules in use
		return next.succeed(s.opts.now())
	}
	next.lastDigest = digest
	// Rules in use must not wait for shadow rules, whose size is bounded (weight.Tried), so these
	// are compiled at the same time, and without OnWork, whose calls must not overlap.
	if !next.shadow {
		s.compiling.Lock() // one at a time: it takes much memory
		defer s.compiling.Unlock()
		if s.opts.OnWork != nil {
			defer s.opts.OnWork()()
		}
	}
	read := len(files)
	if next.assessed.Pinned {
		files = append(slices.Clip(files), next.assessed.pinned)
	}
	u := rules.Unit{Trusted: next.assessed.file, Tried: next.shadow, Layer: next.layer, Files: files, Disable: disable, ListsOnly: next.layer == decisions.Project, Table: s.tableOf(next.org), Profiles: s.profilesOf(next.org)}
	c, ps := rules.Compile(u, s.schema)
	if ps.Failed() {
		return next.degrade(ps, s.opts.now())
	}
	if failed := c.FailedTests(ctx, u, s.schema); failed.Failed() {
		return next.degrade(failed, s.opts.now())
	}
	if failed := s.failedCalls(ctx, &u, c); failed.Failed() {
		return next.degrade(failed, s.opts.now())
	}
	if !next.shadow && !s.weights.Fits(next.layer, next.uid, c.Weight, &ps) {
		return next.degrade(ps, s.opts.now())
	}
	next.active, next.digest, next.files = c, digest, read
	return next.succeed(s.opts.now())
}

// weight is what the rules in use take by estimate, in bytes.
func (n *layerState) weight() int64 {
	if n.active == nil {
		return 0
	}
	return n.active.Weight
}

func (n *layerState) succeed(now time.Time) *layerState {
	if n.missing != "" {
		return n.degrade(missingProblem(n.missing), now)
	}
	state := StateOK
	if n.files == 0 {
		state = StateAbsent
	}
	if n.state != state || n.since.IsZero() {
		n.since = now
	}
	n.state, n.problems = state, nil
	return n
}

func (n *layerState) degrade(ps diag.List, now time.Time) *layerState {
	if n.state != StateDegraded {
		n.since = now
	}
	n.state, n.problems = StateDegraded, ps
	return n
}

// err returns why the layer is degraded, nil if it is not.
func (n *layerState) err() error {
	if n.state != StateDegraded {
		return nil
	}
	return n.problems.Err(n.layer)
}

// rulesOf returns who may own and write the files of a layer.
func (s *Store) rulesOf(n *layerState) source.Access {
	switch n.layer {
	case decisions.Org:
		return source.Access{Owners: s.opts.OrgOwners}
	case decisions.User:
		if s.opts.System { // the daemon has written them, for the person
			return source.Access{Owners: []uint32{0, s.opts.UID}}
		}
		return source.Access{Owners: []uint32{0, n.uid}, PrivateGroup: s.privateGroup(n.uid)}
	case decisions.Project, decisions.Base:
	}
	// A project's files can only add restrictions unless their exact contents are
	// trusted, so their owner and mode are not checked.
	return source.Access{Writable: true, ListsOnly: true, NoLink: true}
}

// privateGroup returns a function that recognises a person's private group and
// caches the answer for each group.
func (s *Store) privateGroup(uid uint32) func(gid uint32) bool {
	known := map[uint32]bool{}
	return func(gid uint32) bool {
		private, ok := known[gid]
		if !ok {
			private = s.opts.privateGroup(uid, gid)
			known[gid] = private
		}
		return private
	}
}
