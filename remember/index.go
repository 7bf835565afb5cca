package remember

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions"
)

// entry is a choice as it is matched. All but the two counters is immutable.
type entry struct {
	choice Choice
	answer decisions.Choice // what Match returns
	digest digest
	expire int64 // nanoseconds since 1970, 0 for never
	row    int64 // in the database

	uses atomic.Int64
	last atomic.Int64 // nanoseconds since 1970, 0 for not yet
	// flushed is the value of uses in the database; under the Store's lock.
	flushed int64
}

// snapshot returns the choice with its counters.
func (e *entry) snapshot() Choice {
	c := e.choice
	c.Uses = e.uses.Load()
	if last := e.last.Load(); last != 0 {
		c.LastUsed = time.Unix(0, last).UTC()
	}
	return c
}

// over reports whether the choice has ended at a time.
func (e *entry) over(now int64) bool {
	if e.expire != 0 && now >= e.expire {
		return true
	}
	if !e.choice.Scope.Kind.ofSession() {
		return false
	}
	since := max(e.last.Load(), e.choice.Created.UnixNano())
	return now-since > int64(SessionIdle)
}

// covers reports whether the effect of q lies in the choice's scope. Who the
// person is has been compared with the digest; it is compared again, since a
// wrong allow would be worse than a comparison.
func (e *entry) covers(q *decisions.MemoryQuery) bool {
	c := &e.choice
	if c.UID != q.UID {
		return false
	}
	switch c.Scope.Kind {
	case ForUser:
		return true
	case ForProject:
		return q.Project != "" && q.Project == c.Scope.Key
	case ForSession, ForChildren:
		if c.Scope.Key == "" || c.Scope.Conn != q.Session.Conn {
			return false
		}
		return c.Scope.Key == q.Session.ID ||
			c.Scope.Kind == ForChildren && slices.Contains(q.Session.Ancestors, c.Scope.Key)
	}
	return false
}

// used counts a match.
func (e *entry) used(now int64) {
	e.uses.Add(1)
	e.last.Store(now)
}

// index finds choices by their digest. It is immutable: a change copies the
// one shard that it is in.
type index struct {
	shards [256]map[digest][]*entry
	// exactArguments counts the choices that are bound to a tool's arguments,
	// which are only hashed when there are any.
	exactArguments int
}

func (x *index) lookup(d *digest) []*entry { return x.shards[d[0]][*d] }

// with returns an index that has more entries.
func (x *index) with(entries ...*entry) *index {
	n := *x
	copied := [256]bool{}
	for _, e := range entries {
		shard := n.own(&copied, e.digest[0])
		shard[e.digest] = append(slices.Clip(shard[e.digest]), e)
		if e.choice.Pins.Arguments {
			n.exactArguments++
		}
	}
	return &n
}

// without returns an index that lacks entries.
func (x *index) without(entries ...*entry) *index {
	n := *x
	copied := [256]bool{}
	for _, e := range entries {
		shard := n.own(&copied, e.digest[0])
		var rest []*entry
		for _, other := range shard[e.digest] {
			if other != e {
				rest = append(rest, other)
			}
		}
		if len(rest) == len(shard[e.digest]) {
			continue
		}
		if rest == nil {
			delete(shard, e.digest)
		} else {
			shard[e.digest] = rest
		}
		if e.choice.Pins.Arguments {
			n.exactArguments--
		}
	}
	return &n
}

// own returns a shard that no older index shares.
func (x *index) own(copied *[256]bool, i byte) map[digest][]*entry {
	if !copied[i] {
		copied[i] = true
		x.shards[i] = maps.Clone(x.shards[i])
	}
	if x.shards[i] == nil {
		x.shards[i] = map[digest][]*entry{}
	}
	return x.shards[i]
}

// match returns the widest reject and the narrowest allow for the effect of q.
func (x *index) match(key *hashKey, q *decisions.MemoryQuery, now int64) (reject, allow *entry) {
	consider := func(found []*entry) {
		for _, e := range found {
			if e.over(now) || !e.covers(q) {
				continue
			}
			rank := e.choice.Scope.Kind.rank()
			switch e.choice.Verdict {
			case decisions.Deny:
				if reject == nil || rank > reject.choice.Scope.Kind.rank() {
					reject = e
				}
			case decisions.Allow:
				if allow == nil || rank < allow.choice.Scope.Kind.rank() {
					allow = e
				}
			}
		}
	}
	// With arguments first: at the same scope, that choice is the narrower.
	named := q.Effect.Use != nil
	if !named || x.exactArguments > 0 {
		if d, ok := key.digestOf(q, false); ok {
			consider(x.lookup(&d))
		}
	}
	if named {
		if d, ok := key.digestOf(q, true); ok {
			consider(x.lookup(&d))
		}
	}
	return reject, allow
}
