package journal

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
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

const (
	// lowSpace is the free space, in bytes, below which Retention.LowSpace is set,
	// in addition to what the journal may still grow by. On small file systems it
	// is an eighth.
	lowSpace = 512 << 20
	// remindEvery is how often the log repeats a warning, and tells what was
	// removed.
	remindEvery = time.Hour
)

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
	s.Free, s.LowSpace = r.space.check(max(0, r.maxBytes-s.Bytes))
	previous := r.status.Swap(s)
	if r.log == nil {
		return
	}
	if s.LowSpace && r.space.remind(now) {
		r.log.Warn("the file system of the journal is almost full: when it is full, nothing is allowed", "free", s.Free)
	}
	if err != nil && (previous == nil || previous.Failing == "") {
		r.log.Error("old decisions cannot be removed from the journal", "error", err)
	}
	if r.unlogged > 0 && now.Sub(r.logged).Abs() >= remindEvery {
		r.log.Info("old decisions were removed from the journal", "removed", r.unlogged, "until", s.RemovedUntil)
		r.logged, r.unlogged = now, 0
	}
}

// note counts removed decisions for the log.
func (r *retention) note(removed int64) { r.unlogged += removed }

// spaceCheck watches the free space of the folder's file system. Only the mover
// uses it: no request waits for a file system that hangs.
type spaceCheck struct {
	measure  func() (free, total int64, ok bool)
	reminded time.Time
}

// check returns the free space, and whether it is low if the journal may still grow
// by so much.
func (c *spaceCheck) check(growth int64) (free int64, low bool) {
	free, total, ok := c.measure()
	return free, ok && free < min(lowSpace, total/8)+growth
}

// remind reports whether it is time for a warning.
func (c *spaceCheck) remind(now time.Time) bool {
	if !c.reminded.IsZero() && now.Sub(c.reminded).Abs() < remindEvery {
		return false
	}
	c.reminded = now
	return true
}

// freeSpace returns the free and the whole space of the file system of an open
// folder, in bytes.
func freeSpace(fd int) (free, total int64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return 0, 0, false
	}
	size := int64(st.Bsize) //nolint:unconvert // the types differ between systems
	return int64(st.Bavail) * size, int64(st.Blocks) * size, st.Blocks > 0
}

const (
	// steadyFor is for how long a clock must not have jumped before decisions are
	// removed for their age: one that was set to a far year for a moment must not
	// empty the journal.
	steadyFor = time.Hour
	// maxDrift is how far the clock may leave the time that has passed in between
	// two looks.
	maxDrift = time.Minute
)

// steadyClock tells whether the clock can be trusted. It is not steady at the
// start.
type steadyClock struct {
	start  time.Time     // its monotonic reading is used
	after  time.Duration // without a jump the clock is steady
	since  time.Duration // after start
	ahead  time.Duration // of the clock, at the latest look
	looked bool
}

// steady reports whether the clock has not jumped for some time.
func (c *steadyClock) steady(now time.Time) bool {
	if c.start.IsZero() {
		c.start = time.Now()
	}
	passed := time.Since(c.start)
	ahead := now.Round(0).Sub(c.start.Round(0)) - passed
	if c.looked && (ahead-c.ahead).Abs() > maxDrift {
		c.since = passed
	}
	c.ahead, c.looked = ahead, true
	return passed-c.since >= c.after
}
