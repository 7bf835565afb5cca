package decisions

import (
	"reflect"
	"sync"

	"github.com/permd/permd/decisions/effects"
)

// Bounds of a cache.
const (
	maxEntries         = 96      // evaluations of one generation, each some 10 KiB in RAM
	maxKeyBytes        = 8 << 10 // of a key; larger calls are rarely asked twice
	maxGenerationBytes = 1 << 20 // bytes of keys and lookups of one generation
)

// Cache keeps evaluations of calls, so that the same call again costs
// less. Its zero value is ready for use; it is safe for concurrent use.
//
// Why what it returns is what deciding afresh would find: evaluate is a function
// of
//
//   - what cacheableRequest leaves of the request: all of it is the key, compared byte
//     by byte (see appendRequest; a test changes each field by reflection);
//   - the snapshot of the rules, compared by identity, which carries rules,
//     program table, profiles and settings, and does not change;
//   - what the engine was told of the file system: each answer is noted, and is
//     asked for again and compared before an evaluation is used (see recordingFS). So a
//     link that was put in a path's place since is seen, as it would be without
//     the cache; what happens between the answer and the act is not, as before;
//   - the engine's own members, which are set before its first call;
//   - the time, which only rules see: a snapshot whose rules look at it is not
//     kept (see timelessPolicy).
//
// Memory is not part of it: choices are asked for each request, so that one that
// was made, revoked or has ended counts at once. Nor is an evaluation kept in which
// something failed.
type Cache struct {
	mu sync.Mutex
	// Evaluations that were used lately are in young. When that is full it becomes
	// old, and what was old is forgotten: as good as counting, and cheaper.
	young, old map[string]*cacheEntry
	bytes      int // of young

	buffers sync.Pool // for keys
}

// buffer is room for a key, until done.
func (c *Cache) buffer() []byte {
	if b, ok := c.buffers.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 2<<10)
}

func (c *Cache) release(b []byte) {
	if b != nil && cap(b) <= 2*maxKeyBytes {
		c.buffers.Put(&b)
	}
}

// timelessPolicy is implemented by snapshots that can say whether what their rules say
// of an effect is the same at any time.
type timelessPolicy interface{ Timeless() bool }

// cacheEntry is an evaluation with what it was made from.
type cacheEntry struct {
	evaluation *evaluation
	project    string
	lookups    []fsLookup
	size       int
}

// get returns what is kept under a key, if the file system still is as it was.
func (c *Cache) get(key []byte, fsys effects.FS) *cacheEntry {
	if c == nil || key == nil {
		return nil
	}
	k := c.find(key)
	if k == nil || !unchanged(fsys, k.lookups) {
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

// put keeps an evaluation, if it may be kept.
func (c *Cache) put(key []byte, m *evaluation, project string, seen *recordingFS) {
	if c == nil || key == nil || m.failed || seen.uncomparable || !timeless(m.snapshot) {
		return
	}
	k := &cacheEntry{evaluation: m, project: project, lookups: seen.lookups}
	k.size = len(key) + seen.bytes + 64*len(seen.lookups) + sizeOf(m.res.Effects) + sizeOf(m.res.Hints)
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

// timeless reports whether a snapshot may be kept. One that is not compared by
// identity could seem to be another.
func timeless(s Snapshot) bool {
	t, ok := s.(timelessPolicy)
	return ok && t.Timeless() && reflect.TypeOf(s).Kind() == reflect.Pointer
}
