package decisions

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/stamps"
	"github.com/permd/permd/decisions/lookups"
	"github.com/permd/permd/decisions/underway"
)

// Bounds of a cache.
const (
	maxEntries         = 96       // evaluations of one generation, each some 10 KiB in RAM
	maxKeyBytes        = 8 << 10  // of a key; longer ones are kept as digests
	maxCachedBytes     = 64 << 10 // of a key; larger calls are rarely asked twice
	maxKeptBuffer      = 32 << 10 // bytes of a buffer for keys that is used again
	maxGenerationBytes = 1 << 20  // bytes of requests and lookups of one generation
)

// Cache caches evaluations of calls. Its zero value is ready for concurrent use.
//
// A cached evaluation equals a new one, because evaluate is a function of
//
//   - what cacheableRequest leaves of the request: all of it is the key, compared byte
//     by byte, or by its SHA-256 digest if it is long (see appendRequest and shortened; a
//     test changes each field by reflection);
//   - the snapshot of the rules, compared by identity, which carries rules, program table,
//     profiles and settings, and does not change;
//   - what the engine read from the file system: each lookup is recorded, and is repeated
//     and compared before an evaluation is used (see package lookups), or follows from others
//     that are. So a path that has become a link since is noticed;
//   - the engine's own members, which are set before its first call, and what this machine
//     is, whose digest is in the key of calls that name an address (see paths.Machine);
//   - the time, which only rules see: evaluations by rules that use it are not cached
//     (see timelessPolicy).
//
// Memory is not part of an evaluation: choices are looked up for each request, so
// that changes take effect at once. Evaluations with a failure are not cached.
type Cache struct {
	mu sync.Mutex
	// Recently used evaluations are in young. When it is full it becomes old, and the
	// former old is dropped: an approximation of LRU.
	young, old map[string]*cacheEntry
	bytes      int // of young

	buffers sync.Pool // for keys
}

// buffer returns a buffer for a key.
func (c *Cache) buffer() []byte {
	if b, ok := c.buffers.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 2<<10)
}

func (c *Cache) release(b []byte) {
	if b != nil && cap(b) <= maxKeptBuffer {
		c.buffers.Put(&b)
	}
}

// timelessPolicy is implemented by snapshots that can tell whether their results are
// independent of the time.
type timelessPolicy interface{ Timeless() bool }

// cacheEntry is an evaluation with the lookups that it depends on.
type cacheEntry struct {
	evaluation *evaluation
	project    string
	lookups    []lookups.Lookup
	size       int

	implied atomic.Pointer[stamps.Implied] // nil until the entry is used
	uses    atomic.Uint32                  // while not all stamps of folders are known
}

// get returns the entry of a key, if its lookups still have the same results.
func (c *Cache) get(ctx context.Context, key []byte, fsys effects.FS) *cacheEntry {
	if c == nil || key == nil {
		return nil
	}
	k := c.find(key)
	if k == nil || !k.same(ctx, fsys) {
		return nil
	}
	return k
}

func (c *Cache) find(key []byte) *cacheEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.young[string(key)]; k != nil {
		return k
	}
	k := c.old[string(key)]
	if k != nil {
		c.add(string(key), k)
	}
	return k
}

// put adds an evaluation, if it may be cached, of a request of so many bytes.
func (c *Cache) put(key []byte, bytes int, m *evaluation, project string, seen *lookups.Recorder) {
	if c == nil || key == nil || m.failed || !timeless(m.snapshot) {
		return
	}
	looks, held, ok := seen.Lookups()
	if !ok {
		return
	}
	m.cached = true // nobody else has it yet
	k := &cacheEntry{evaluation: m, project: project, lookups: looks}
	k.size = bytes + held + 64*len(looks) + effects.SizeOf(m.res.Effects) + effects.SizeOf(m.res.Hints) + effects.SizeOf(m.res.Rest) + effects.SizeOf(m.res.Unprofiled) + effects.SizeOfClaims(m.res.Claimed)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(string(key), k)
}

// add is called with the lock held.
func (c *Cache) add(key string, k *cacheEntry) {
	if c.young == nil || len(c.young) >= maxEntries || c.bytes+k.size > maxGenerationBytes {
		c.old, c.young, c.bytes = c.young, make(map[string]*cacheEntry), 0
	}
	c.young[key] = k
	c.bytes += k.size
}

// timeless reports whether evaluations by a snapshot may be cached. The snapshot must
// be comparable by identity.
func timeless(s Snapshot) bool {
	t, ok := s.(timelessPolicy)
	return ok && t.Timeless() && reflect.TypeOf(s).Kind() == reflect.Pointer
}

// usesPerStamp is how often an entry is used until stamps of folders are read anew. Of one that
// changes all the time none can be trusted.
const usesPerStamp = 8

// same reports whether all lookups of an entry still have the same results.
func (k *cacheEntry) same(ctx context.Context, fsys effects.FS) bool {
	by, ok := fsys.(stamps.FS)
	if !ok {
		return lookups.Unchanged(ctx, fsys, k.lookups, 0)
	}
	work := underway.Of(ctx)
	visit := func(path string) { work.Visit(underway.AtFiles, path) }
	known, all := k.implied.Load().Check(by, visit)
	if all || k.uses.Add(1)%usesPerStamp != 1 {
		return lookups.Unchanged(ctx, fsys, k.lookups, known)
	}
	// Stamps come before the lookups, all of which are repeated: a change in between makes the
	// stamp outdated.
	implied := stamps.New(lookups.Found(k.lookups), by, visit)
	if !lookups.Unchanged(ctx, fsys, k.lookups, 0) {
		return false
	}
	k.implied.Store(implied)
	return true
}
