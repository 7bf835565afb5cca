package decisions

import (
	"context"
	"log/slog"
	"path"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/tools"
	"github.com/permd/permd/decisions/lookups"
)

// evaluator evaluates calls by rules and fences. It has no memory and no journal: the result
// is the same for equal requests, so it may be cached. Engine turns it into decisions.
type evaluator struct {
	policy Policy
	fs     effects.FS
	trees  func(string) []WorkingTree // see MemoryQuery
	own    paths.Own
	system bool // calls come from several people
	// machine is read for each call that names an address for its result, for the cache's key.
	machine func() *paths.Machine
	pid     int
	cache   *Cache
	log     *slog.Logger
}

// intake is the state of a request before its rules are known: where it comes from,
// and its cached evaluation.
type intake struct {
	project string
	recent  int            // see Request.Recent
	buffer  []byte         // of the cache
	key     []byte         // in it; nil when the cache is not for it
	cached  *cacheEntry    // nil when nothing is
	machine *paths.Machine // in the key; nil when nothing of it is
	// The rest is set if the request is not cached; a cache may keep all of it.
	req      *Request
	context  *tools.CallContext
	recorder *lookups.Recorder
	*evaluating

	// What the decision was made of, for Config.Shadow; evaluated is nil after a panic.
	evaluated *evaluation
	found     []memoryMatch
	at        time.Time
	paused    bool // a pause or a lock was in force

	query MemoryQuery // not kept
}

// evaluating is what evaluating a call takes, in one piece of memory. Nothing of it is kept.
type evaluating struct {
	recording lookups.Recorder
	world     tools.World
	input     Input
}

// receive determines where a request comes from. The cache is used only for requests
// of one call: what earlier calls may change is not part of the key.
func (e *evaluator) receive(ctx context.Context, m *intake, req *Request, alone bool) {
	req.Call.Confined = req.Session.confinement()
	m.recent = req.Recent
	if alone && e.cache != nil {
		key, ok := appendRequest(e.cache.buffer(), req)
		if req.Call.ReplyTo != "" && e.machine != nil {
			m.machine = e.machine()
			key, ok = append(key, m.machine.Digest...), ok && m.machine.Digest != ""
		}
		m.buffer = key
		if ok {
			m.buffer, key = shortened(key)
			m.key = key
			if m.cached = e.cache.get(ctx, key, e.fs); m.cached != nil {
				m.project = m.cached.project
				return
			}
			req = cacheableRequest(req)
		}
	}
	m.resolve(ctx, e, req)
}

// resolve prepares a request for evaluation without the cache.
func (m *intake) resolve(ctx context.Context, e *evaluator, req *Request) {
	m.req, m.cached, m.evaluating = req, nil, new(evaluating)
	var shared *lookups.Shared
	if d, ok := ctx.(*deadline); ok {
		shared = d.looks
	}
	m.recorder = &m.recording
	m.recorder.Begin(ctx, e.fs, shared)
	m.world = tools.World{FS: m.recorder, Own: e.own, Others: e.system}
	m.context = m.world.CallContext(&req.Call)
	m.project = m.context.Project()
}

// withoutMessage returns the call of an evaluation with raw JSON of its own, as a cached one has.
func (m *intake) withoutMessage(c *effects.Call) *effects.Call {
	if m.key != nil {
		return c
	}
	return cloneRaw(c)
}

// world returns what effects are derived with.
func (e *evaluator) world(fsys effects.FS, snap Snapshot) tools.World {
	return tools.World{FS: fsys, Own: e.own, Others: e.system, Machine: e.machine, Table: snap.Table(), Profiles: snap.Profiles()}
}

// evaluation returns the evaluation of a request, from the cache if possible.
func (e *evaluator) evaluation(ctx context.Context, snap Snapshot, received *intake, now time.Time) *evaluation {
	if received.cached != nil {
		return received.cached.evaluation
	}
	m := e.evaluate(ctx, snap, received, now)
	if received.key != nil && len(m.res.Rest) <= maxCachedRest {
		e.cache.put(received.key, len(received.buffer), m, received.project, received.recorder)
	}
	received.recorder.Release()
	return m
}

// workingTrees returns MemoryQuery.Trees. It is made once: a call without rejects for
// projects must cost nothing.
func workingTrees(fsys effects.FS) func(string) []WorkingTree {
	return func(p string) (trees []WorkingTree) {
		for dir := p; path.IsAbs(dir) && dir != "/"; dir = path.Dir(dir) {
			if key := paths.ProjectKey(fsys, dir); key != dir {
				trees = append(trees, WorkingTree{dir, key})
			}
		}
		return trees
	}
}
