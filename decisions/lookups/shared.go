package lookups

import (
	"errors"
	"io/fs"
	"time"
)

// Bounds of what the calls of one request share.
const (
	maxShared      = 4096
	maxSharedBytes = 1 << 20 // of file content and names
	maxSharedAge   = 100 * time.Millisecond
)

// Shared are the results of lookups that the calls of one request share: all are decided before
// any of them runs. Who asks for what the earlier ones will change must not look it up. It belongs
// to one goroutine at a time; nil shares nothing.
type Shared struct {
	since time.Time // none is older
	byKey map[lookupKey]Lookup
	bytes int
}

// NewShared returns nil for a single call, which has nothing to share.
func NewShared(calls int, now time.Time) *Shared {
	if calls < 2 {
		return nil
	}
	return &Shared{since: now}
}

type lookupKey struct {
	op    op
	path  string
	limit int64
}

// answer answers a lookup, and reports whether it could.
func (s *Shared) answer(l *Lookup) bool {
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
func (s *Shared) add(l Lookup) {
	if s == nil || l.err != nil && !errors.Is(l.err, fs.ErrNotExist) || len(s.byKey) >= maxShared || s.bytes+len(l.text) > maxSharedBytes {
		return
	}
	if s.byKey == nil {
		s.byKey = map[lookupKey]Lookup{}
	}
	s.byKey[lookupKey{l.op, l.path, l.limit}] = l
	s.bytes += len(l.text)
}

// ForgetOld forgets the results if some may be too old for another call: deciding took long,
// or others went first.
func (s *Shared) ForgetOld(now time.Time) {
	if s == nil {
		return
	}
	if age := now.Sub(s.since); age < 0 || age > maxSharedAge {
		s.since, s.byKey, s.bytes = now, nil, 0
	}
}
