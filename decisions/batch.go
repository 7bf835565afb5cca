package decisions

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/tools"
)

// maxFolders is how many folders the shell of a batch may be in; with more it may be in
// any.
const maxFolders = 8

// earlierCalls tracks how the calls of a request affect later ones. All are decided before
// any of them runs, so each is decided for the state that it will find: with the
// links that earlier calls make, in the folder that they change to. Denied calls do
// not run and have no effect.
type earlierCalls struct {
	before  effects.Disturbance
	opaque  bool // one of them may change what it does not name
	changed bool // the shell changed in ways that cannot be followed
	folders []string
	// activated are the folders of programs that its shell may look into first.
	activated []string
}

// prepare adds to a call what the earlier ones may change.
func (b *earlierCalls) prepare(c *effects.Call, profiles *tools.Profiles) {
	c.Before = b.before
	if !b.changed && len(b.folders) == 0 && len(b.activated) == 0 || !profiles.LiveShell(c.Harness()) && !c.Declared.RunsShell() {
		return
	}
	for _, bin := range b.activated {
		if !slices.Contains(c.Activated, bin) {
			c.Activated = append(slices.Clip(c.Activated), bin)
		}
	}
	c.LiveShell = c.LiveShell || b.changed
	for _, f := range b.folders {
		if !slices.Contains(c.Folders, f) {
			c.Folders = append(slices.Clip(c.Folders), f)
		}
	}
}

// add records what a decided call may change for the calls after it.
func (b *earlierCalls) add(d *Decision, after effects.Disturbance) {
	if d.Verdict == Deny {
		return
	}
	b.before = after
	b.opaque = b.opaque || d.Opaque
	for i := range d.Effects {
		b.changed = b.changed || d.Effects[i].Kind == effects.KindState
	}
	for _, bin := range d.Left().Activated {
		if len(b.activated) >= maxFolders {
			bin = ""
		}
		if !slices.Contains(b.activated, bin) {
			b.activated = append(b.activated, bin)
		}
	}
	for _, f := range d.Left().Folders {
		switch {
		case slices.Contains(b.folders, f):
		case f == "" || len(b.folders) >= maxFolders:
			b.changed = true
		default:
			b.folders = append(b.folders, f)
		}
	}
}

// Bounds of what the calls of one request share.
const (
	maxSharedLooks = 4096
	maxSharedBytes = 1 << 20 // of file content and names
	maxSharedAge   = 100 * time.Millisecond
)

// sharedLooks are the results of lookups that the calls of one request share: all are
// decided before any of them runs. What the earlier ones will change is not looked up (see
// earlierCalls). It belongs to one goroutine at a time; nil shares nothing.
type sharedLooks struct {
	since time.Time // none is older
	byKey map[lookupKey]fsLookup
	bytes int
}

// newSharedLooks returns nil for a single call, which has nothing to share.
func newSharedLooks(calls int, now time.Time) *sharedLooks {
	if calls < 2 {
		return nil
	}
	return &sharedLooks{since: now}
}

type lookupKey struct {
	op    lookupOp
	path  string
	limit int64
}

// answer answers a lookup, and reports whether it could.
func (s *sharedLooks) answer(l *fsLookup) bool {
	if s == nil {
		return false
	}
	known, ok := s.byKey[lookupKey{l.op, l.path, l.limit}]
	if ok {
		*l = known
	}
	return ok
}

// add adds a result. Errors that say nothing about the path are not shared: the next call
// looks again.
func (s *sharedLooks) add(l fsLookup) {
	if s == nil || l.err != nil && !errors.Is(l.err, fs.ErrNotExist) || len(s.byKey) >= maxSharedLooks || s.bytes+len(l.text) > maxSharedBytes {
		return
	}
	if s.byKey == nil {
		s.byKey = map[lookupKey]fsLookup{}
	}
	s.byKey[lookupKey{l.op, l.path, l.limit}] = l
	s.bytes += len(l.text)
}

// forgetOld forgets the results if some may be too old for another call: deciding took long,
// or others went first.
func (s *sharedLooks) forgetOld(now time.Time) {
	if s == nil {
		return
	}
	if age := now.Sub(s.since); age < 0 || age > maxSharedAge {
		s.since, s.byKey, s.bytes = now, nil, 0
	}
}
