package projection

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/input"
)

// Bounds of a cache.
const (
	maxGenerationBytes = 128 << 10 // of keys, shapes and results
	maxKeyBytes        = 4 << 10   // of a key; longer ones are rarely seen twice
	entryBytes         = 128       // of an entry besides its key and what it succeeds
)

// Cache keeps the results of evaluations by the rules of some layers. It is safe
// for concurrent use.
type Cache struct {
	layers []*Layer
	narrow input.Parts // of those that the layers need
	raw    input.Parts

	mu sync.Mutex
	// What was used recently is in young. When that is full it becomes old, and the
	// former old is dropped: what is used once in a generation stays, whatever
	// else is asked meanwhile.
	young, old map[string]*entry
	bytes      int // of young
	oldBytes   int

	hits, misses, unkept atomic.Int64

	buffers sync.Pool
}

// entry is a shape, or the result of an evaluation.
type entry struct {
	shape *shape // nil in a shape's entry if the rules leave too much open
	fired []decisions.Finding
	size  int
}

// New returns a cache for the rules of some layers.
func New(layers []*Layer) *Cache {
	c := &Cache{layers: layers}
	var needs input.Parts
	for _, l := range layers {
		needs = needs.Union(l.needs)
	}
	c.narrow, c.raw = needs.Intersection(input.Narrow), needs.Intersection(input.RawParts)
	return c
}

// Counts returns how many results were found, how many were not, and for how many
// effects none can be kept.
func (c *Cache) Counts() (hits, misses, unkept int64) {
	return c.hits.Load(), c.misses.Load(), c.unkept.Load()
}

// Lookup is one look at a cache.
type Lookup struct {
	// Found says that Fired is the result. It must not be changed.
	Found bool
	Fired []decisions.Finding

	cache  *Cache
	buffer *[]byte
	key    []byte // to keep a result under, nil for none
}

// Look looks for the result for an effect. The Lookup must be closed.
func (c *Cache) Look(in *decisions.Input) (l Lookup) {
	if !c.keeps(in) {
		c.unkept.Add(1)
		return l
	}
	l.cache = c
	l.buffer, _ = c.buffers.Get().(*[]byte)
	if l.buffer == nil {
		l.buffer = new([]byte)
	}
	key := input.AppendKey((*l.buffer)[:0], in, c.narrow)
	*l.buffer = key
	narrow := len(key)
	if narrow > maxTestedBytes { // so none of the narrow parts is too long to be tested
		c.unkept.Add(1)
		return l
	}
	s := c.shapeOf(key, in)
	if s == nil {
		c.unkept.Add(1)
		return l
	}
	key, ok := s.appendKey(key, in)
	*l.buffer = key
	if !ok || len(key) > maxKeyBytes {
		c.unkept.Add(1)
		return l
	}
	// No key is another one, cut at another place.
	l.key = binary.BigEndian.AppendUint32(key, uint32(narrow))
	*l.buffer = l.key
	if e := c.find(l.key); e != nil {
		c.hits.Add(1)
		l.Found, l.Fired = true, e.fired
	} else {
		c.misses.Add(1)
	}
	return l
}

// keeps reports whether results for an effect may be kept: the client's JSON has no
// key.
func (c *Cache) keeps(in *decisions.Input) bool {
	if c.raw.Has(input.PartRaw) && len(in.Call.Input) > 0 {
		return false
	}
	return !c.raw.Has(input.PartArguments) || in.Effect.Use == nil || len(in.Effect.Use.Arguments) == 0
}

// Keep keeps the result of an evaluation that had no error. built is how many bytes its
// builtins allocated.
func (l *Lookup) Keep(fired []decisions.Finding, built int64) {
	if l.key == nil || built > maxBuilt {
		return
	}
	e := &entry{fired: fired, size: entryBytes + len(l.key)}
	for i := range fired {
		e.size += 200 + len(fired[i].Reason) + len(fired[i].Message)
	}
	if e.size > maxShapeBytes {
		return
	}
	l.cache.put(string(l.key), e)
}

// Close ends a look.
func (l *Lookup) Close() {
	if l.buffer != nil && cap(*l.buffer) <= 2*maxKeyBytes {
		l.cache.buffers.Put(l.buffer)
	}
	l.buffer, l.key = nil, nil
}

// shapeOf returns the shape of an effect, nil if its rules leave too much open.
func (c *Cache) shapeOf(key []byte, in *decisions.Input) *shape {
	narrow := len(key)
	key = binary.BigEndian.AppendUint32(key, ^uint32(0)) // after the length, as no key is so long
	if e := c.find(key); e != nil {
		return e.shape
	}
	s := newShape(c.layers, in, c.narrow)
	e := &entry{shape: s, size: entryBytes + narrow}
	if s != nil {
		e.size += s.size
	}
	c.put(string(key), e)
	return s
}

func (c *Cache) find(key []byte) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.young[string(key)]; e != nil {
		return e
	}
	e := c.old[string(key)]
	if e != nil {
		c.add(string(key), e)
	}
	return e
}

func (c *Cache) put(key string, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, e)
}

// add is called with the lock held.
func (c *Cache) add(key string, e *entry) {
	if c.young == nil || c.bytes+e.size > maxGenerationBytes {
		c.old, c.oldBytes = c.young, c.bytes
		c.young, c.bytes = map[string]*entry{}, 0
	}
	c.young[key] = e
	c.bytes += e.size
}

// appendKey appends what the open rules make of an effect: which of them may fire,
// and the values that those read. Not ok if one of them has no key.
func (s *shape) appendKey(key []byte, in *decisions.Input) ([]byte, bool) {
	var reads input.Parts
	v := values{in: in}
	for i := range s.rules {
		r := &s.rules[i]
		if v.allPass(r.tests) {
			reads = reads.Union(r.reads)
			key = binary.AppendUvarint(key, uint64(i)+1)
		}
	}
	key = append(key, 0)
	if v.tooLong || !reads.Difference(input.Keyed).Empty() {
		return key, false
	}
	if !reads.Empty() {
		key = reads.AppendBinary(key)
		key = input.AppendKey(key, in, reads)
	}
	return key, true
}

// values are the values of an effect that tests look at. Tests of a rule are mostly
// of the same value.
type values struct {
	in    *decisions.Input
	last  subject
	value input.Value
	// One of the values may be longer than the evaluator takes.
	tooLong bool
	// The joined words are made once for all rules.
	hasJoined bool
	words     input.Value
}

// allPass reports whether all tests hold.
func (v *values) allPass(tests []*test) bool {
	for _, t := range tests {
		switch {
		case t.form == joined && v.hasJoined:
			v.value = v.words
		case t.subject != v.last || t.field.Empty():
			v.value = t.valueOf(v.in)
			v.tooLong = v.tooLong || tooLong(v.value)
		}
		v.last = t.subject
		if t.form == joined {
			v.hasJoined, v.words = true, v.value
		}
		if !t.passes(v.value) {
			return false
		}
	}
	return true
}

// Size returns about how many bytes are kept.
func (c *Cache) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes + c.oldBytes
}
