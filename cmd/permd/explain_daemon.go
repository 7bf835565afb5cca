package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
	"github.com/permd/permd/socket/admin"
)

// methodExplain is the management method behind permd explain.
const methodExplain = "permd/explain"

// Bounds of what is kept for explanations.
const (
	maxDeliberations     = 512
	maxDeliberationBytes = 1 << 20
	// maxSnapshots bounds the sets of rules that are kept alive by decisions
	// that were made with them.
	maxSnapshots = 16
)

// deliberations are what the latest decisions were made of. The journal keeps no
// arguments, so only these can be explained in full.
type deliberations struct {
	mu        sync.Mutex
	byID      map[string]*decisions.Deliberation
	order     []kept // the oldest first
	size      int
	snapshots map[decisions.Snapshot]int
	whole     bool // keep all, raw input too: for one command, not for a daemon
}

// kept is a deliberation with what it costs to keep.
type kept struct {
	id   string
	size int
	with decisions.Snapshot
}

// note keeps a deliberation and lets the oldest go.
func (k *deliberations) note(d *decisions.Deliberation) {
	if !k.whole {
		d.Slim()
	}
	k.keep(kept{d.ID, d.Size(), d.Snapshot}, d)
}

func (k *deliberations) keep(c kept, d *decisions.Deliberation) {
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

// of returns what a decision was made of, nil when that is not known any more.
func (k *deliberations) of(id string) *decisions.Deliberation {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byID[id]
}

// registerExplain adds the method to those of the management socket.
func (d *daemon) registerExplain(m socket.Methods) {
	m[methodExplain] = func(_ *socket.Conn, params strictjson.Value) (func(context.Context) (any, error), error) {
		var p struct {
			DecisionID string `json:"decisionId"`
		}
		if err := strictjson.Unmarshal(params, &p); err != nil {
			return nil, &socket.Error{Code: socket.CodeParams, Message: "invalid params: " + err.Error()}
		}
		return func(ctx context.Context) (any, error) {
			rec, err := journalLog{r: d.journal.Reader}.Get(ctx, p.DecisionID)
			if err != nil {
				return nil, fmt.Errorf("reading the journal: %w", err)
			}
			if rec == nil {
				return nil, &socket.Error{Code: admin.CodeNoDecision, Message: "no decision of that id"}
			}
			x := explainRecord(rec, d.recent.of(p.DecisionID))
			x.fill(ctx)
			return x, nil
		}, nil
	}
}
