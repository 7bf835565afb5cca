package remember

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/permd/permd/internal/shards"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/remember/facts"
	"github.com/permd/permd/remember/lives"
)

// entry is a choice in matchable form. All but the counters is immutable.
type entry struct {
	choice Choice
	answer decisions.Choice // what Match returns
	// digest is that of the effect's facts; line is set instead where a choice
	// is matched by its rule line.
	digest digest
	line   *pattern.Pattern
	// bound is what an allow is bound to, for people; nil for none, and for choices of
	// versions that did not keep it.
	bound *binding
	parts []*rejectPart // of a reject
	// stored is the version of the digest (see digest.go).
	stored int64
	// changed is set for a choice of an earlier permd that no longer applies as
	// it did.
	changed bool
	expire  int64 // nanoseconds since 1970, 0 for never
	row     int64 // in the database
	// life is that of the session that the choice is for, nil for none.
	life *lives.Life

	matchCount atomic.Int64 // column uses
	lastMatch  atomic.Int64 // nanoseconds since 1970, 0 for not yet
	confirmed  atomic.Int64 // when a person confirmed it, 0 for not yet
	accepted   atomic.Int64 // when a person accepted the change, 0 for not yet
	// flushed is the number of matches in the database; under the Store's lock.
	flushed int64
}

// setID gives the choice its id.
func (e *entry) setID(id string) {
	e.choice.ID, e.answer.ID = id, id
	for _, p := range e.parts {
		p.answer.ID, p.ask.ID = id, id
	}
}

// snapshot returns the choice with its counters.
func (e *entry) snapshot() Choice {
	c := e.choice
	c.Matches, c.ByLine, c.Changed = e.matchCount.Load(), e.line != nil, e.whyChanged()
	for _, p := range e.parts {
		c.Parts = append(c.Parts, p.Part)
	}
	if c.Verdict == decisions.Allow && c.Pins.Script != "" {
		if c.BoundTo = e.boundTo(); e.bound != nil {
			c.BoundText = e.bound.Text
		}
	}
	if last := e.lastMatch.Load(); last != 0 {
		c.LastMatched = time.Unix(0, last).UTC()
	}
	if at := e.confirmed.Load(); at != 0 {
		c.Confirmed = time.Unix(0, at).UTC()
	}
	return c
}

// expiredAt reports whether the choice has expired at a time, or its session has ended.
func (e *entry) expiredAt(now int64) bool {
	if e.expire != 0 && now >= e.expire {
		return true
	}
	if !e.choice.Scope.Kind.ofSession() {
		return false
	}
	if e.sessionEnded() {
		return true
	}
	since := max(e.lastMatch.Load(), e.choice.Created.UnixNano())
	return now-since > int64(choiceIdle)
}

// absolute reports whether the choice identifies files of a project by absolute
// path: one that applies everywhere does, since it must not mean the file of
// that name in another project.
func (c *Choice) absolute() bool {
	switch c.Kind {
	case effects.KindRun, effects.KindRead, effects.KindWrite, effects.KindDelete:
		return c.Scope.Kind == ForUser
	case effects.KindConnect, effects.KindUse, effects.KindState, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
	}
	return false
}

// covers reports whether the effect of q is in the choice's scope and project.
// The person was already compared with the digest; the comparison is repeated
// because a wrong allow would be worse than its cost.
func (e *entry) covers(q *decisions.MemoryQuery) bool {
	c := &e.choice
	if c.UID != q.UID && c.UID != allUsers || c.Pins.Project != "" && c.Pins.Project != q.Key() {
		return false
	}
	switch c.Scope.Kind {
	case ForUser:
		return true
	case ForProject:
		return q.Project != "" && q.Key() == c.Scope.Key
	case ForSession, ForChildren:
		if c.Scope.Key == "" || c.Scope.Conn != q.Session.Conn {
			return false
		}
		// A reject in a session also applies to its children.
		return c.Scope.Key == q.Session.ID ||
			(c.Scope.Kind == ForChildren || c.Verdict == decisions.Deny) && slices.Contains(q.Session.Ancestors, c.Scope.Key)
	}
	return false
}

// coversDestructive reports whether an allow covers a destructive use: an allow
// of a call no longer applies once the tool's server declares that the tool may
// destroy something. A line that a person wrote is about the tool as such.
func (e *entry) coversDestructive(x *effects.Effect) bool {
	return x.Use == nil || !x.Use.Destructive || e.choice.Pins.Destructive || e.line != nil && e.choice.DecisionID == ""
}

// inForce reports whether an allow counts yet: one that only a client reported
// must be confirmed before it covers guarded tags, past or present, or always
// if the settings require it.
func (e *entry) inForce(confirmAll, guarded bool) bool {
	return e.choice.Verdict != decisions.Allow || e.confirmed.Load() != 0 ||
		!confirmAll && !guarded && !e.choice.Pins.Guarded
}

// countMatch counts a match.
func (e *entry) countMatch(now int64) {
	e.matchCount.Add(1)
	e.lastMatch.Store(now)
}

// index finds choices. It is immutable: a change copies the shards it affects.
type index struct {
	shards shards.Map[digest, []*entry]
	lines  lineIndex
	// bound are the allows that are bound to content, by the digest of their other facts;
	// numBound counts them with those that have a line. Nothing is allowed by it.
	bound    shards.Map[digest, []*entry]
	numBound int
	// rejects are the parts of rejects; those of an earlier permd are in shards
	// too.
	rejects rejectIndex
	// exactArguments counts the choices that are bound to a tool's arguments,
	// absolutes those that identify files by absolute path: the digests for
	// them are only computed if there are any.
	exactArguments, absolutes int
	// confirmAll means that no allow counts before it is confirmed.
	confirmAll bool
	refuse     func(c *Choice, confirmed, now int64, q *decisions.MemoryQuery) string // see Options
}

// matchUnconfirmed is match including allows that wait to be confirmed.
func (x *index) matchUnconfirmed(key *hashKey, q *decisions.MemoryQuery, now int64) (reject, allow *entry) {
	s := search{x: x, key: key, q: q, now: now, newest: now, unconfirmed: true}
	s.run()
	return s.reject, s.allow
}

func (x *index) lookup(d *digest) []*entry { return x.shards[d[0]][*d] }

// count changes the counters for an entry by n.
func (x *index) count(e *entry, n int) {
	if e.choice.Pins.Arguments {
		x.exactArguments += n
	}
	if e.byFacts() && e.choice.absolute() {
		x.absolutes += n
	}
	if e.choice.Verdict == decisions.Allow && e.choice.Pins.Script != "" {
		x.numBound += n
	}
}

// with returns an index with additional entries.
func (x *index) with(entries ...*entry) *index {
	n := *x
	var facts, bound shards.Edit
	edit, rejects := n.lines.edit(), rejectEdit{x: &n.rejects}
	for _, e := range entries {
		n.count(e, 1)
		if loose, ok := e.loose(); ok {
			shard := shards.Own(&bound, &n.bound, loose[0])
			shard[loose] = append(slices.Clip(shard[loose]), e)
		}
		rejects.add(e)
		if e.line != nil && e.choice.Verdict == decisions.Allow {
			edit.add(e)
		}
		if !e.byFacts() {
			continue
		}
		shard := shards.Own(&facts, &n.shards, e.digest[0])
		shard[e.digest] = append(slices.Clip(shard[e.digest]), e)
	}
	return &n
}

// without returns an index without some entries.
func (x *index) without(entries ...*entry) *index {
	n := *x
	var facts, bound shards.Edit
	edit, rejects := n.lines.edit(), rejectEdit{x: &n.rejects}
	for _, e := range entries {
		rejects.remove(e)
		if loose, ok := e.loose(); ok {
			shard := shards.Own(&bound, &n.bound, loose[0])
			if shard[loose] = withoutEntry(shard[loose], e); len(shard[loose]) == 0 {
				delete(shard, loose)
			}
		}
		if e.line != nil && e.choice.Verdict == decisions.Allow {
			edit.remove(e)
		}
		if !e.byFacts() {
			n.count(e, -1)
			continue
		}
		shard := shards.Own(&facts, &n.shards, e.digest[0])
		rest := withoutEntry(shard[e.digest], e)
		if len(rest) == len(shard[e.digest]) {
			continue
		}
		if len(rest) == 0 {
			delete(shard, e.digest)
		} else {
			shard[e.digest] = rest
		}
		n.count(e, -1)
	}
	return &n
}

// withoutEntry returns a new list without an entry.
func withoutEntry(list []*entry, e *entry) []*entry {
	rest := make([]*entry, 0, len(list))
	for _, other := range list {
		if other != e {
			rest = append(rest, other)
		}
	}
	return rest
}

// search is one lookup of the choices that match an effect.
type search struct {
	x   *index
	key *hashKey
	q   *decisions.MemoryQuery
	now int64
	// newest is the latest time ever observed, by which allows expire: setting
	// the clock back revives none of them.
	newest int64
	call   string // digest of the whole call, computed when needed
	// unconfirmed includes allows that wait to be confirmed.
	unconfirmed bool
	// loosely searches for allows that are bound to another content; no other search may
	// find them.
	loosely bool
	// elsewhere is set if the project of q is not that of the call (see
	// reject_roots.go): only choices for a project count.
	elsewhere bool
	// tree is the other working tree of the project in which lines about files are
	// looked for, "" for the project itself.
	tree string

	reject, allow *entry
	unsure        bool        // the reject only asks
	part          *rejectPart // the part that the effect touches, nil if its facts match
}

// byFacts reports whether the entry is found by the digest of facts.
func (e *entry) byFacts() bool { return e.stored == factsVersion }

// check considers entries that match by their digest or line.
func (s *search) check(found []*entry) {
	for _, e := range found {
		if e.choice.Verdict == decisions.Deny {
			s.checkReject(e)
			continue
		}
		if t := s.q.Target; t != nil && t.Unbound != "" && !s.loosely {
			continue // whatever earlier versions bound it to
		}
		if e.expiredAt(s.newest) || !e.covers(s.q) || !e.coversDestructive(s.q.Effect) || !s.unconfirmed && !e.inForce(s.x.confirmAll, s.q.Effect.Guarded() != 0) ||
			s.x.refuse != nil && s.x.refuse(&e.choice, e.confirmed.Load(), s.newest, s.q) != "" {
			continue
		}
		switch {
		case s.allow == nil:
			s.allow = e
		case s.loosely && e.fresher(s.allow, s.q), !s.loosely && e.narrower(s.allow):
			s.allow = e
		}
	}
}

func (s *search) checkReject(e *entry) {
	if e.expiredAt(s.now) || !e.covers(s.q) {
		return
	}
	if e.choice.Pins.Call != "" {
		if s.call == "" {
			s.call = s.key.callOf(s.q)
		}
		if s.call != e.choice.Pins.Call {
			return
		}
	}
	if s.reject == nil || s.unsure || e.choice.Scope.Kind.rank() > s.reject.choice.Scope.Kind.rank() {
		s.reject, s.unsure, s.part = e, false, nil
	}
}

// narrower reports whether an allow is narrower than another: first by what it
// matches, then by its scope.
func (e *entry) narrower(than *entry) bool {
	if e.answer.Exact != than.answer.Exact {
		return e.answer.Exact
	}
	if (e.line == nil) != (than.line == nil) {
		return e.line == nil
	}
	return e.choice.Scope.Kind.rank() < than.choice.Scope.Kind.rank()
}

// match returns the widest reject and the narrowest allow for the effect of q.
func (x *index) match(key *hashKey, q *decisions.MemoryQuery, now, newest int64) (found search) {
	s := search{x: x, key: key, q: q, now: now, newest: newest}
	s.run()
	return s
}

// answer returns the choice for the reject found: the part that matched.
func (s *search) answer() *decisions.Choice {
	switch {
	case s.part == nil:
		return &s.reject.answer
	case s.unsure:
		return &s.part.ask
	}
	return &s.part.answer
}

func (s *search) run() {
	// Narrower forms first: at equal scope the first is used.
	switch e := s.q.Effect; {
	case e.Use != nil:
		if s.x.exactArguments > 0 {
			s.tryForm(facts.Form{})
		}
		s.tryForm(facts.Form{AnyArguments: true})
	default:
		s.tryForm(facts.Form{})
		if s.x.absolutes > 0 && (e.Run != nil || e.File != nil) {
			s.tryForm(facts.Form{Absolute: true})
		}
		if s.q.Target != nil && s.q.Target.Earlier != "" {
			s.tryForm(facts.Form{Earlier: true})
			s.tryForm(facts.Form{Earlier: true, Absolute: true})
		}
		if facts.Moves(s.q.Effect) {
			s.tryForm(facts.Form{Moved: true})
			s.tryForm(facts.Form{Moved: true, Absolute: true})
		}
	}
	s.x.lines.search(s)
	s.x.rejects.search(s)
}

// tryForm considers the choices about the exact facts of the effect. Rejects hold whatever
// variables are set.
func (s *search) tryForm(f facts.Form) {
	f.Variables = facts.SetsVariables(s.q.Effect)
	if d, ok := s.key.digestOf(s.q, f); ok {
		s.check(s.x.lookup(&d))
	}
	if f.Variables {
		f.Variables = false
		if d, ok := s.key.digestOf(s.q, f); ok {
			s.check(slices.DeleteFunc(slices.Clone(s.x.lookup(&d)), func(e *entry) bool { return e.choice.Verdict == decisions.Allow }))
		}
	}
}
