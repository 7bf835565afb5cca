package journal

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions/journal/chain"
)

// heads tells what the chain's head is. The mover owns it, but for latest.
type heads struct {
	tell   func(chain.Head)
	now    func() time.Time
	latest atomic.Pointer[chain.Head]

	told    int64 // entries of the head that was told
	toldAt  time.Time
	started bool
}

// configure sets the callback for new heads, and the clock.
func (h *heads) configure(o *Options, c *chainWriter) {
	h.tell, h.now = o.Head, time.Now
	if o.Now != nil {
		h.now = o.Now
	}
	first := c.latest(time.Time{})
	h.latest.Store(first)
	h.told = first.Entries
}

// Continues reports whether the chain of the database still has a head that it had, as far
// as its newest record shows. One whose record retention has removed counts as there.
func (r *Reader) Continues(ctx context.Context, h *chain.Head) (bool, error) {
	var id, at []byte
	var cut int64
	err := r.db.Read.QueryRowContext(ctx, "SELECT id, cut, (SELECT hash FROM decisions WHERE seq = ?) FROM chain, retained", h.Seq).Scan(&id, &cut, &at)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("looking for a head: %w", err)
	}
	if hex.EncodeToString(id) != h.Chain || err != nil {
		return false, nil
	}
	if h.Seq <= cut || hex.EncodeToString(at) == h.Hash {
		return true, nil
	}
	var n int
	hash, err := hex.DecodeString(h.Hash)
	if err == nil {
		err = r.db.Read.QueryRowContext(ctx, "SELECT count(*) FROM notes WHERE after = ? AND hash = ?", h.Seq, hash).Scan(&n)
	}
	if err != nil {
		return false, fmt.Errorf("looking for a head: %w", err)
	}
	return n > 0, nil
}

// note calls the callback if the chain has a new head and enough entries or time have passed
// since the last call; with now set it calls it for any new head. At the start it always does.
func (h *heads) note(c *chainWriter, now bool) {
	at := h.now()
	if h.latest.Load().Entries != c.entries {
		h.latest.Store(c.latest(at))
	}
	fresh := c.entries - h.told
	waited := at.Sub(h.toldAt)
	due := fresh >= headEntries || fresh > 0 && (now || waited >= headEvery || waited < 0)
	if h.tell == nil || !due && (h.started || c.entries == 0) {
		h.started = true
		return
	}
	h.told, h.toldAt, h.started = c.entries, at, true
	h.tell(*h.latest.Load())
}
