package decisions

import (
	"context"
	"log/slog"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/tools"
)

// evaluator finds out what a call does and what rules and fences say about it. It
// has no memory and no journal: what it finds is the same for every request that
// is equal, so it may be kept in a cache. Engine makes answers of it.
type evaluator struct {
	policy Policy
	fs     effects.FS
	own    paths.Own
	system bool // calls come from several people
	pid    int
	cache  *Cache
	log    *slog.Logger
}

// intake is what is known of a request before there are rules for it: where it
// comes from, and what is kept of its like.
type intake struct {
	project string
	buffer  []byte      // of the cache
	key     []byte      // in it; nil when the cache is not for it
	cached  *cacheEntry // nil when nothing is
	// Else what the request is evaluated by, of which a cache may keep all.
	req      *Request
	context  *tools.CallContext
	recorder *recordingFS
}

// receive finds out where a request comes from. Only the one call of a request is
// looked up in the cache: what calls before it may change is not part of the key.
func (e *evaluator) receive(req *Request, alone bool) *intake {
	m := new(intake)
	req.Call.Confined = req.Session.confinement()
	if alone && e.cache != nil {
		key, ok := appendRequest(e.cache.buffer(), req)
		m.buffer = key
		if ok {
			m.key = key
			if m.cached = e.cache.get(key, e.fs); m.cached != nil {
				m.project = m.cached.project
				return m
			}
			req = cacheableRequest(req)
		}
	}
	m.resolve(e, req)
	return m
}

// resolve prepares a request for evaluation: nothing that was kept is used.
func (m *intake) resolve(e *evaluator, req *Request) {
	m.req, m.cached = req, nil
	m.recorder = &recordingFS{fs: e.fs}
	w := tools.World{FS: m.recorder, Own: e.own, Others: e.system}
	m.context = w.CallContext(&req.Call)
	m.project = m.context.Project()
}

// world is what effects are found with.
func (e *evaluator) world(fsys effects.FS, snap Snapshot) tools.World {
	return tools.World{FS: fsys, Own: e.own, Others: e.system, Table: snap.Table(), Profiles: snap.Profiles()}
}

// evaluation returns what is known of a request without memory, from the cache if
// it is there.
func (e *evaluator) evaluation(ctx context.Context, snap Snapshot, received *intake, now time.Time) *evaluation {
	if received.cached != nil {
		return received.cached.evaluation
	}
	m := e.evaluate(ctx, snap, received, now)
	if received.key != nil && len(m.res.Rest) <= maxCachedRest {
		e.cache.put(received.key, m, received.project, received.recorder)
	}
	return m
}
