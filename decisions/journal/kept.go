package journal

import (
	"context"
	"time"

	"github.com/permd/permd/decisions/journal/upkeep"
)

// Retention says what the journal keeps, and what was removed.
type Retention struct {
	// Since is the time of the oldest decision after those that were removed; zero
	// while there is none.
	Since time.Time `json:"since,omitzero"`
	// Removed is the number of decisions that were removed, and RemovedUntil the
	// time of the newest of them.
	Removed      int64     `json:"removed"`
	RemovedUntil time.Time `json:"removedUntil,omitzero"`
	Bytes        int64     `json:"bytes"`             // of the database that are in use
	MaxBytes     int64     `json:"maxBytes,omitzero"` // 0 for no limit
	MaxAgeS      int64     `json:"maxAgeSeconds,omitzero"`
	// Free is the free space of the file system, in bytes; 0 if it is not known, or if
	// there is none: LowSpace tells them apart.
	Free int64 `json:"free,omitzero"`
	// LowSpace is set long before the file system is full.
	LowSpace bool `json:"lowSpace,omitzero"`
	// Failing is why nothing can be removed, "" if it can.
	Failing string `json:"failing,omitzero"`
}

// refresh updates the status. err is why the latest step failed.
func (r *retention) refresh(ctx context.Context, err error) {
	s := &Retention{
		Removed: r.removed, Bytes: r.usage.Bytes(), MaxBytes: r.maxBytes, MaxAgeS: int64(r.maxAge / time.Second),
	}
	if r.cutAt != 0 {
		s.RemovedUntil = time.Unix(0, r.cutAt).UTC()
	}
	var oldest int64
	row := r.writer.conn.QueryRowContext(ctx, "SELECT time FROM decisions WHERE seq > ? ORDER BY seq LIMIT 1", r.cut)
	if row.Scan(&oldest) == nil {
		s.Since = time.Unix(0, oldest).UTC()
	}
	if err != nil {
		s.Failing = err.Error()
	}
	now := r.now()
	s.Free, s.LowSpace = r.space.Check(max(0, r.maxBytes-s.Bytes))
	previous := r.status.Swap(s)
	if r.log == nil {
		return
	}
	if s.LowSpace && r.space.Remind(now) {
		r.log.Warn("the file system of the journal is almost full: when it is full, nothing is allowed", "free", s.Free)
	}
	if err != nil && (previous == nil || previous.Failing == "") {
		r.log.Error("old decisions cannot be removed from the journal", "error", err)
	}
	if r.unlogged > 0 && now.Sub(r.logged).Abs() >= upkeep.RemindEvery {
		r.log.Info("old decisions were removed from the journal", "removed", r.unlogged, "until", s.RemovedUntil)
		r.logged, r.unlogged = now, 0
	}
}

// note counts removed decisions for the log.
func (r *retention) note(removed int64) { r.unlogged += removed }
