package explain

import (
	"sync"

	"github.com/permd/permd/decisions"
)

// Bounds of what is kept for explanations.
const (
	maxDeliberations     = 512
	maxDeliberationBytes = 1 << 20
	// maxSnapshots bounds the sets of rules that are kept alive by decisions
	// that were made with them.
	maxSnapshots = 16
)

// Recent are what the latest decisions were made of. The journal keeps no
// arguments, so only these can be explained in full.
type Recent struct {
	mu        sync.Mutex
	byID      map[string]*decisions.Deliberation
	order     []entry // the oldest first
	size      int
	snapshots map[decisions.Snapshot]int
	whole     bool // keep all, raw input too: for one command, not for a daemon
}

// KeepAll keeps what all decisions of one command were made of.
func KeepAll() *Recent { return &Recent{whole: true} }

// entry is a deliberation with what it costs to keep.
type entry struct {
	id   string
	size int
	with decisions.Snapshot
}

// Note keeps a deliberation and lets the oldest go.
func (k *Recent) Note(d *decisions.Deliberation) {
	if !k.whole {
		d.Slim()
	}
	k.keep(entry{d.ID, d.Size(), d.Snapshot}, d)
}

func (k *Recent) keep(c entry, d *decisions.Deliberation) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byID == nil {
		k.byID, k.snapshots = map[string]*decisions.Deliberation{}, map[decisions.Snapshot]int{}
	}
	k.byID[c.id] = d
	k.order = append(k.order, c)
	k.size += c.size
	k.snapshots[c.with]++
	for !k.whole && (len(k.order) > maxDeliberations || k.size > maxDeliberationBytes || len(k.snapshots) > maxSnapshots) {
		old := k.order[0]
		k.order = k.order[1:]
		k.size -= old.size
		delete(k.byID, old.id)
		if k.snapshots[old.with]--; k.snapshots[old.with] == 0 {
			delete(k.snapshots, old.with)
		}
	}
}

// Of returns what a decision was made of, nil when that is not known any more.
func (k *Recent) Of(id string) *decisions.Deliberation {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byID[id]
}
