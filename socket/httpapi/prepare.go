package httpapi

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/permd/permd/internal/strictjson"
)

const (
	// prepareEvery is how often requests wait for the rules of the same folder's project
	// to load: loading takes longer than deciding. In between, the rules are kept up to
	// date like all others, and calls in a project whose rules are not loaded ask.
	prepareEvery = 10 * time.Second
	// maxPrepared bounds the folders in the cache. It is half of the number of projects
	// whose rules are kept, so that a folder in the cache has its rules loaded. With more
	// folders than that, requests wait for the rules more often; there is no other
	// effect.
	maxPrepared = 32
)

// prepareCache holds the folders whose project's rules were loaded less than
// prepareEvery ago.
type prepareCache struct {
	now func() time.Time

	mu    sync.Mutex
	times map[preparedKey]time.Time
}

type preparedKey struct {
	uid uint32
	cwd [sha256.Size]byte
}

func preparedKeyOf(uid uint32, declaration strictjson.Value) preparedKey {
	return preparedKey{uid, sha256.Sum256(strictjson.Find(declaration, "cwd"))}
}

// isFresh reports whether the rules for the key were loaded less than prepareEvery ago.
// If the clock has gone back, it returns false.
func (p *prepareCache) isFresh(key preparedKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.times[key]
	age := p.now().Sub(at)
	return ok && age >= 0 && age < prepareEvery
}

// add records that the rules for the key have just been loaded.
func (p *prepareCache) add(key preparedKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == nil || len(p.times) >= maxPrepared {
		p.times = map[preparedKey]time.Time{}
	}
	p.times[key] = p.now()
}
