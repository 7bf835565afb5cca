package httpapi

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/permd/permd/internal/strictjson"
)

const (
	// prepareEvery is how often the rules of one folder's project are looked for,
	// however many requests name it: reading them takes longer than a decision.
	// In between they are kept up to date as they are for everybody, and what is
	// not loaded asks.
	prepareEvery = 10 * time.Second
	// maxPrepared bounds the folders that are known. It is half of the projects
	// whose rules are kept, so that what is known here is not gone there, which
	// would ask; beyond it the rules are looked for more often, nothing else.
	maxPrepared = 32
)

// prepareCache are the folders whose project's rules were loaded a moment ago.
type prepareCache struct {
	now func() time.Time

	mu sync.Mutex
	at map[preparedKey]time.Time
}

type preparedKey struct {
	uid uint32
	cwd [sha256.Size]byte
}

func keyOf(uid uint32, declaration strictjson.Value) preparedKey {
	return preparedKey{uid, sha256.Sum256(strictjson.Find(declaration, "cwd"))}
}

// fresh reports whether that was prepared a moment ago. A clock that went back
// makes nothing fresh.
func (p *prepareCache) fresh(key preparedKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.at[key]
	age := p.now().Sub(at)
	return ok && age >= 0 && age < prepareEvery
}

// note says that it was prepared now.
func (p *prepareCache) note(key preparedKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at == nil || len(p.at) >= maxPrepared {
		p.at = map[preparedKey]time.Time{}
	}
	p.at[key] = p.now()
}
