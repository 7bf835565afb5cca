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
	byID      map[string]*decisions.Deliberation
	order     []deliberationEntry // oldest first
	size      int
	snapshots map[decisions.Snapshot]int
	whole     bool // keep everything, with raw inputs; for a single command only
}

// KeepAll returns a Recent without bounds, for the decisions of a single command.
func KeepAll() *Recent { return &Recent{whole: true} }

// deliberationEntry describes a deliberation and its cost.
type deliberationEntry struct {
	id       string
	size     int
	snapshot decisions.Snapshot
}

// Note adds a deliberation and drops the oldest ones above the bounds.
func (k *Recent) Note(d *decisions.Deliberation) {
	if !k.whole {
		d.Slim()
	}
	k.keep(deliberationEntry{d.ID, d.Size(), d.Snapshot}, d)
}

func (k *Recent) keep(c deliberationEntry, d *decisions.Deliberation) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byID == nil {
		k.byID, k.snapshots = map[string]*decisions.Deliberation{}, map[decisions.Snapshot]int{}
	}
	k.byID[c.id] = d
	k.order = append(k.order, c)
	k.size += c.size
	k.snapshots[c.snapshot]++
	for !k.whole && (len(k.order) > maxDeliberations || k.size > maxDeliberationBytes || len(k.snapshots) > maxSnapshots) {
		old := k.order[0]
		k.order = k.order[1:]
		k.size -= old.size
		delete(k.byID, old.id)
		if k.snapshots[old.snapshot]--; k.snapshots[old.snapshot] == 0 {
			delete(k.snapshots, old.snapshot)
		}
	}
}

// Of returns the deliberation of a decision, nil if it is no longer held.
func (k *Recent) Of(id string) *decisions.Deliberation {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byID[id]
}
