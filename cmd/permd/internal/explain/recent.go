package explain

import (
	"sync"

	"github.com/permd/permd/decisions"
)

// Bounds of Recent.
const (
	maxDeliberations     = 512
	maxDeliberationBytes = 1 << 20
	// maxSnapshots bounds the sets of rules that deliberations keep in memory.
	maxSnapshots = 16
)

// Recent holds the deliberations of the latest decisions. The journal keeps no
// arguments, so only these decisions can be explained in full.
type Recent struct {
	mu        sync.Mutex
	order     []deliberationEntry // oldest first, from first on; the ones before are dropped
	first     int
	size      int
	snapshots map[decisions.Snapshot]int
	whole     bool // keep everything, with raw inputs; for a single command only
}

// KeepAll returns a Recent without bounds, for the decisions of a single command.
func KeepAll() *Recent { return &Recent{whole: true} }

// deliberationEntry is a deliberation and its cost.
type deliberationEntry struct {
	*decisions.Deliberation
	size int
}

// Note adds a deliberation and drops the oldest ones above the bounds.
func (k *Recent) Note(d *decisions.Deliberation) {
	if !k.whole {
		d.Slim()
	}
	k.keep(deliberationEntry{d, d.Size()})
}

func (k *Recent) keep(c deliberationEntry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.snapshots == nil {
		k.snapshots = map[decisions.Snapshot]int{}
	}
	if k.first >= maxDeliberations {
		n := copy(k.order, k.order[k.first:])
		clear(k.order[n:])
		k.order, k.first = k.order[:n], 0
	}
	k.order = append(k.order, c)
	k.size += c.size
	k.snapshots[c.Snapshot]++
	for !k.whole && (len(k.order)-k.first > maxDeliberations || k.size > maxDeliberationBytes || len(k.snapshots) > maxSnapshots) {
		old := &k.order[k.first]
		k.first++
		k.size -= old.size
		if k.snapshots[old.Snapshot]--; k.snapshots[old.Snapshot] == 0 {
			delete(k.snapshots, old.Snapshot)
		}
		*old = deliberationEntry{}
	}
}

// Of returns the deliberation of a decision, nil if it is no longer held.
func (k *Recent) Of(id string) *decisions.Deliberation {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := len(k.order) - 1; i >= k.first; i-- {
		if k.order[i].ID == id {
			return k.order[i].Deliberation
		}
	}
	return nil
}
