package decisions

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/fence"
	"github.com/permd/permd/decisions/targets"
	"github.com/permd/permd/internal/lexpath"
)

// evaluation is the part of a decision that does not depend on memory: the effects of
// a call and, for each, the results of rules and fences. It is immutable and may be
// used for many requests (see Cache).
type evaluation struct {
	snapshot     Snapshot
	call         *effects.Call
	res          effects.Result
	session      SessionRef // as rules may know it, without its connection
	recent       int        // see Request.Recent; like the time, nothing is kept where rules look at it
	projectKey   string
	person       string // why the whole call needs a person, "" if it does not
	effects      []effectFacts
	hints        []effectFacts // of res.Hints
	fingerprints []Fingerprint
	failed       bool // rules could not be evaluated for one of the effects
	alone        bool // nothing but the call, its session and its peer's user went into it
	cached       bool // see Cache.put
	// rest has a part for each of the effects in res.Rest.
	rest []effectFacts
	// unprofiled are those of res.Unprofiled that org, or base, denies or asks about.
	unprofiled []unprofiled
	one        [1]effectFacts // the memory of effects, for a call with one effect, as most
	// unremembered is what follows where memory says nothing of any effect, once it is
	// known. It depends on nothing but the evaluation.
	unremembered atomic.Pointer[conclusion]
	slim         atomic.Pointer[slimInput] // what Deliberation.Slim keeps, once it is known
}

// slimInput is an input without the raw input of its call, and without what no rule sees.
type slimInput struct {
	call    effects.Call
	result  *effects.Result
	session SessionRef
	trusted bool
	recent  int
}

// trustedRoot returns the root of the call's project if its allows count, else "".
func (m *evaluation) trustedRoot() string {
	if !m.snapshot.Trusted() {
		return ""
	}
	return m.res.Project
}

// strays reports whether an argument of a run of the call may name a path that is guarded or
// outside of the project at root, for example through a symbolic link. Such a path has no effect of
// its own if it is not known whether the program uses the argument as a path.
func (m *evaluation) strays(root string) bool {
	is := func(e effects.Effect) bool {
		return e.Guessed && !e.Claimed && e.Via != nil && e.Via.Arg >= 0 && e.File != nil &&
			(e.Tags.Has(effects.Outside) || e.Guarded() != 0 || !lexpath.In(root, e.File.Path))
	}
	return slices.ContainsFunc(m.res.Hints, is) || slices.ContainsFunc(m.res.Rest, is)
}

// elsewhere reports whether the folder or the script of a run, or a file, is outside of the project
// at root, or in another project inside of it: a repository of its own, a worktree or a submodule.
func elsewhere(fsys effects.FS, root string, e *effects.Effect, script *effects.Script) bool {
	at := func(p string) bool {
		if !lexpath.In(root, p) {
			return true
		}
		for dir := p; lexpath.Below(root, dir); dir = path.Dir(dir) {
			if _, err := fsys.Lstat(path.Join(dir, ".git")); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				return true
			}
		}
		return false
	}
	switch {
	case e.Run != nil:
		return at(e.Run.Folder) || script != nil && script.Path != "" && at(path.Dir(script.Path))
	case e.File != nil:
		return at(e.File.Path)
	}
	return false
}

// effectFacts is the evaluation of one effect.
type effectFacts struct {
	fence string
	// elsewhere is set if the project is trusted and the effect is not known to be in it; see the
	// function elsewhere. It is computed only for trusted projects.
	elsewhere bool
	target    *effects.Script
	findings  Findings
	err       error // of the rules
}

// evaluate evaluates a call. It must depend on nothing but the request as
// cacheableRequest returns it, the snapshot, the engine and the file system, or the
// cache would be wrong.
func (e *evaluator) evaluate(ctx context.Context, snap Snapshot, received *intake, now time.Time) *evaluation {
	req, fsys := received.req, received.recorder
	received.world = e.world(fsys, snap)
	received.world.Known = received.machine
	m := &evaluation{snapshot: snap, call: &req.Call, res: received.world.EffectsIn(received.context), session: req.Session, recent: received.recent}
	m.session.Conn = 0
	m.alone = req.HarnessAsks == "" && req.Forbidden == ""
	m.projectKey = paths.ProjectKey(fsys, m.res.Project)
	m.effects, m.hints = sized(&m.one, len(m.res.Effects)), make([]effectFacts, len(m.res.Hints))
	for i := range len(m.effects) + len(m.hints) {
		eff, p := m.effectAt(i)
		p.target = targets.Of(fsys, eff.Run, &m.res.After, &m.call.User)
	}
	if root := m.trustedRoot(); root != "" {
		strays := m.strays(root)
		for i := range m.effects {
			eff, p := m.effectAt(i)
			p.elsewhere = strays && eff.Run != nil || elsewhere(fsys, root, eff, p.target)
		}
	}
	// Nothing is looked at from here on.
	if addUnanswered(&m.res, fsys.Unanswered()) {
		m.effects = append(m.effects, effectFacts{})
	}
	m.person = needsPerson(req, &m.res)
	m.fingerprints = fingerprints(m.call, m.res.Effects, m.effects)
	for i := range len(m.effects) + len(m.hints) {
		eff, p := m.effectAt(i)
		p.fence = fence.Fence{PID: e.pid, Programs: e.own.Programs()}.Reason(eff)
		if i < len(m.effects) {
			p.fence = cmp.Or(req.Forbidden, p.fence)
		}
	}
	e.askRules(ctx, m, &received.input, now, e.log)
	return m
}

// askRules has the rules of the evaluation's snapshot evaluate each effect. What fails is
// logged. in is memory for their input.
func (e *evaluator) askRules(ctx context.Context, m *evaluation, in *Input, now time.Time, log *slog.Logger) {
	// One input for all effects, so that policy can reuse what they share.
	*in = m.input()
	in.Now = now
	for i := range len(m.effects) + len(m.hints) {
		giveWay(ctx)
		eff, p := m.effectAt(i)
		in.Effect = eff
		if p.err = ctx.Err(); !errors.Is(p.err, context.DeadlineExceeded) { // a deny counts for a call that was cancelled
			p.findings, p.err = m.snapshot.Evaluate(ctx, in)
		}
		if p.err != nil {
			warned := m.failed
			m.failed = true
			if warned {
				continue // one line a call
			}
			if abandonedReason(ctx) != "" {
				continue // nobody waits for it, and nothing is wrong
			}
			log.Warn("policy failed, asking", "kind", eff.Kind, "error", p.err)
		}
	}
	e.evaluateUnprofiled(ctx, m, now)
	e.evaluateRest(ctx, m, now)
}

// sized returns a slice of n elements, in the given memory if there is room for them.
func sized[T any](one *[1]T, n int) []T {
	if n > len(one) {
		return make([]T, n)
	}
	return one[:n:n]
}

// maxSlimMeta bounds a call's _meta that a slim input keeps, in bytes.
const maxSlimMeta = 4 << 10

// slimInput returns what Deliberation.Slim keeps.
func (m *evaluation) slimInput() *slimInput {
	if slim := m.slim.Load(); slim != nil {
		return slim
	}
	call, result := *m.call, &m.res
	call.Input, call.Claims.Diffs, call.Claims.Texts = nil, nil, nil
	if len(call.Claims.Meta) > maxSlimMeta {
		call.Claims.Meta = nil
	}
	if len(result.Rest)+len(result.Unprofiled) > 0 || !result.After.None() {
		rest := *result
		rest.Hints, rest.Folders, rest.Activated, rest.After, rest.Rest, rest.Unprofiled = nil, nil, nil, effects.Disturbance{}, nil, nil
		result = &rest
	}
	slim := &slimInput{call, result, m.session, m.snapshot.Trusted(), m.recent}
	m.slim.Store(slim)
	return slim
}

// effectAt returns the i-th effect with its facts. Hints follow the effects.
func (m *evaluation) effectAt(i int) (*effects.Effect, *effectFacts) {
	if n := i - len(m.effects); n >= 0 {
		return &m.res.Hints[n], &m.hints[n]
	}
	return &m.res.Effects[i], &m.effects[i]
}

// input returns what rules see of the call, without the effect and the time.
func (m *evaluation) input() Input {
	return Input{All: m.res.Effects, Call: m.call, Result: &m.res, Session: m.session, Trusted: m.snapshot.Trusted(), Recent: m.recent}
}

// cacheableRequest returns a copy of a request without the members that differ between
// otherwise equal requests. They are cleared so that nothing can depend on them.
//
//   - Of the call's id the name of a tool stays that some agents put into it.
//   - What becomes of the call after it was decided.
//   - The peer's process and group and the connection are for memory and the
//     journal; rules never see them.
//   - How many calls there were lately is passed on beside the request, as the time is.
//
// Raw JSON is cloned: what is kept must not hold on to the message.
func cacheableRequest(req *Request) *Request {
	r := *req
	r.Call = *cloneRaw(&req.Call)
	r.Call.ID = toolOfID(r.Call.ID)
	r.Peer = Peer{UID: req.Peer.UID}
	r.Session.Conn, r.Session.OneRequest = 0, false
	r.Gate, r.Ran, r.Unrecorded, r.Decided, r.Refused, r.Recent, r.Reconsiders = nil, "", false, nil, "", 0, ""
	return &r
}

// cloneRaw returns a copy of a call whose raw JSON is not part of the message.
func cloneRaw(c *effects.Call) *effects.Call {
	clone := *c
	clone.Input, clone.Claims.Meta = bytes.Clone(c.Input), bytes.Clone(c.Claims.Meta)
	return &clone
}

// toolOfID returns the part of a call's id that names a tool, as in TOOL__7; "" if there
// is none.
func toolOfID(id string) string {
	if i := strings.LastIndex(id, "__"); i > 0 {
		return id[:i+2]
	}
	return ""
}
