package policy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/source"
)

// State says how a layer is.
type State string

// The states of a layer.
const (
	StateOK       State = "ok"
	StateDegraded State = "degraded" // its files are broken; what was good before is in use
	StateAbsent   State = "absent"   // it has no files
)

// testBudget bounds the tests of one layer while it is loaded.
const testBudget = 10 * time.Second

// layerState is one layer at one place, as it was when its files were last read.
// It is immutable; reading them again makes a new one.
type layerState struct {
	layer   decisions.Layer
	uid     uint32
	project string // root, for project layers
	dirs    []string
	org     *layerState // org, for the layers of users and projects

	active      *compiledLayer // nil when the layer has never been good
	digest      string         // of the files that active was compiled from
	files       int            // of them
	nonEmpty    []string       // the names of those that have something in them
	quarantined []string       // of these, the ones whose allows do not count at the moment
	lastDigest  string         // digest of the files that were read last
	state       State
	problems    diag.List // why it is degraded
	since       time.Time
	folders     []string  // folders that were read
	recheckAt   time.Time // when to read again without an event, zero for never

	used *atomic.Int64 // when it was asked for last, in ticks of the store
}

// loadOptions say how the files of a layer are read.
type loadOptions struct {
	deadline  time.Time // how long to wait for files that are being changed
	immediate bool      // a person wants what is there now
}

func (p loadOptions) emptyGrace() time.Duration {
	if p.immediate {
		return reloadEmptyGrace
	}
	return emptyGrace
}

// refresh reads a layer's files again and, if they have changed, compiles and tests
// them. A failure of any kind keeps what was good.
func (s *Store) refresh(ctx context.Context, prev *layerState, how loadOptions) *layerState {
	next := *prev
	if len(prev.dirs) == 0 && prev.state == StateDegraded {
		return &next // not even its folder is known
	}
	next.quarantined, next.recheckAt = nil, time.Time{}
	r, stable := s.read(ctx, prev, how)
	next.folders = r.dirs
	switch {
	case !stable:
		return next.markUnstable(s.opts.Now())
	case r.problems.Failed():
		next.lastDigest = ""
		return next.degrade(r.problems, s.opts.Now())
	case len(next.folders) == 0 && prev.active != nil && len(prev.active.rules)+len(prev.active.programs) > 0 && prev.layer != decisions.Project:
		// The folder has gone while its rules were in use. Nobody drops rules
		// that way on purpose, and a deny must not vanish by accident.
		var ps diag.List
		ps.FileErrorf(prev.dirs[0], "leave an empty folder to have no rules", "the folder is gone; its rules stay in use")
		next.lastDigest = ""
		return next.degrade(ps, s.opts.Now())
	}
	if names, until := prev.recentlyEmptied(r, time.Now(), how.emptyGrace()); names != nil {
		return next.quarantine(names, until, s.opts.Now())
	}
	return s.build(ctx, &next, r.files, nil)
}

// build compiles the layer from files that were read, unless it has been
// made from the same ones before.
func (s *Store) build(ctx context.Context, next *layerState, files []source.File, disable []string) *layerState {
	digest := next.digestOf(files, disable)
	switch {
	case digest == next.lastDigest:
		return next // nothing new, good or bad
	case next.active != nil && digest == next.digest:
		next.lastDigest = digest // back at what is in use
		return next.succeed(s.opts.Now())
	}
	next.lastDigest = digest
	if s.opts.OnWork != nil {
		defer s.opts.OnWork()()
	}
	u := unit{layer: next.layer, files: files, disable: disable, listsOnly: next.layer == decisions.Project, table: s.tableOf(next.org)}
	c, ps := compile(u, s.schema)
	if ps.Failed() {
		return next.degrade(ps, s.opts.Now())
	}
	// The shipped layer's tests have been run where permd was built.
	if c.tests != nil && next.layer != decisions.Base {
		ctx, cancel := context.WithTimeout(ctx, testBudget)
		defer cancel()
		if failed := failedTests(ctx, u, c.tests, s.schema); failed.Failed() {
			return next.degrade(failed, s.opts.Now())
		}
	}
	c.tests = nil
	next.active, next.digest, next.files, next.nonEmpty = c, digest, len(files), nonEmptyFiles(files)
	return next.succeed(s.opts.Now())
}

func (n *layerState) succeed(now time.Time) *layerState {
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

// failedTests runs the layer's tests and returns those that do not pass.
func failedTests(ctx context.Context, u unit, mods *moduleSet, schema *input.Schema) diag.List {
	report, ps := runParsed(ctx, u.layer, mods, schema, false)
	if ps.Failed() {
		return ps
	}
	for _, r := range report.Results {
		if r.Outcome != Pass && r.Outcome != Skip {
			ps = append(ps, diag.Problem{File: r.File, Line: r.Line, Severity: diag.SeverityError,
				Text: fmt.Sprintf("test %s: %s", r.Name, r.Detail()), Hint: "run: permd policy test"})
		}
	}
	if err := ctx.Err(); err != nil && !ps.Failed() {
		ps.FileErrorf(u.files[0].Dir, "", "the tests of the %s layer took too long", u.layer)
	}
	return ps
}

// rulesOf says whom the files of a layer must belong to.
func (s *Store) rulesOf(n *layerState) source.Access {
	switch n.layer {
	case decisions.Org:
		return source.Access{Owners: s.opts.OrgOwners}
	case decisions.User:
		return source.Access{Owners: []uint32{0, n.uid}, PrivateGroup: s.privateGroup(n.uid)}
	case decisions.Project, decisions.Base:
	}
	// A project's files can only tighten until somebody trusts them, so it
	// does not matter who could change them.
	return source.Access{Writable: true, ListsOnly: true}
}

// privateGroup tells a person's private group, each group asked for once.
func (s *Store) privateGroup(uid uint32) func(gid uint32) bool {
	known := map[uint32]bool{}
	return func(gid uint32) bool {
		private, ok := known[gid]
		if !ok {
			private = s.opts.PrivateGroup(uid, gid)
			known[gid] = private
		}
		return private
	}
}

// projectDirs returns the .permd folders that apply to a project: its own and
// all on the way up, the nearest first.
func projectDirs(root string) ([]string, error) {
	if !filepath.IsAbs(root) || filepath.Clean(root) != root {
		return nil, errors.New("the project's root must be an absolute, clean path")
	}
	var dirs []string
	for dir := root; ; dir = filepath.Dir(dir) {
		dirs = append(dirs, filepath.Join(dir, ".permd"))
		if dir == filepath.Dir(dir) || len(dirs) > maxLevels {
			return dirs, nil
		}
	}
}

// maxLevels is how deep below the root folder a project may lie.
const maxLevels = 128
