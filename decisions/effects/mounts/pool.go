package mounts

import (
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions/effects"
)

// Bounds of the looks that hang. Each holds a thread of the process.
const (
	maxUnderWay = 2  // looks at one mount at the same time
	maxStuck    = 32 // looks that hang, of all mounts; then no remote one is looked at
	maxPools    = 64 // mounts that are kept although nobody looks at them
)

// pool is the looks at one mount that are under way.
type pool struct {
	mount mount
	free  chan struct{} // holds a token for each look that may begin
	stuck []*lookup     // that nobody waits for any more
}

// Stuck is a mount that does not answer.
type Stuck struct {
	Mount string    `json:"mount"` // the mount point
	Looks int       `json:"looks"` // that hang
	Since time.Time `json:"since"` // when the first of them began
}

// Stuck returns the mounts that do not answer, in order.
func (f *FS) Stuck() []Stuck {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Stuck
	for _, p := range f.pools {
		if len(p.stuck) > 0 {
			first := slices.MinFunc(p.stuck, func(a, b *lookup) int { return a.began.Compare(b.began) })
			all = append(all, Stuck{p.mount.point, len(p.stuck), first.began})
		}
	}
	slices.SortFunc(all, func(a, b Stuck) int { return strings.Compare(a.Mount, b.Mount) })
	return all
}

// lookup is one look at a remote file system. Its members are guarded by FS.mu.
type lookup struct {
	began     time.Time
	done      bool // it has returned
	abandoned bool // nobody waits for it
}

// await looks at a path of a remote mount in another goroutine, and returns an error if
// there is no answer in time.
func await[T any](f *FS, m mount, patience time.Duration, path string, do func(string) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	silent := &effects.NoAnswerError{Mount: m.point}
	p := f.pool(m)
	if p == nil {
		return none, silent
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.free:
	case <-timer.C:
		return none, silent
	}
	l := &lookup{began: time.Now()}
	answered := make(chan answer, 1)
	go func() {
		var a answer
		a.value, a.err = do(path)
		answered <- a
		f.finish(p, l)
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-timer.C:
	}
	if !f.abandon(p, l) {
		a := <-answered
		return a.value, a.err
	}
	return none, silent
}

// finish records that a look has returned, so that its mount is used again.
func (f *FS) finish(p *pool, l *lookup) {
	f.mu.Lock()
	l.done = true
	if l.abandoned {
		i := slices.Index(p.stuck, l)
		p.stuck = slices.Delete(p.stuck, i, i+1)
		f.stuck--
		f.report()
	}
	f.mu.Unlock()
	p.free <- struct{}{}
}

// abandon records that nobody waits for a look any more, unless it has returned.
func (f *FS) abandon(p *pool, l *lookup) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.done {
		return false
	}
	l.abandoned = true
	p.stuck = append(p.stuck, l) // in the order in which they were given up
	f.stuck++
	f.report()
	return true
}

// report tells a reader of Changed that there is something new.
func (f *FS) report() {
	select {
	case f.changed <- struct{}{}:
	default: // it was not read yet
	}
}

// Changed returns a channel that has a value after the result of Stuck has changed.
func (f *FS) Changed() <-chan struct{} { return f.changed }

// pool returns the pool of a mount, nil if nobody can wait for it: as many looks as may
// be under way hang.
func (f *FS) pool(m mount) *pool {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.pools[m.key]
	if p == nil {
		f.forgetIdle()
		p = &pool{mount: m, free: make(chan struct{}, maxUnderWay)}
		for range maxUnderWay {
			p.free <- struct{}{}
		}
		f.pools[m.key] = p
	}
	if len(p.stuck) >= maxUnderWay || f.stuck >= maxStuck {
		return nil
	}
	return p
}

// forgetIdle drops the pools without a look, if there are many: file systems may be
// mounted and unmounted as long as the process lives.
func (f *FS) forgetIdle() {
	if len(f.pools) < maxPools {
		return
	}
	for key, p := range f.pools {
		if len(p.free) == maxUnderWay {
			delete(f.pools, key)
		}
	}
}
