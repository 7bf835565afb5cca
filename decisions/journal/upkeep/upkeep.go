// Package upkeep holds what a journal looks at before it removes old decisions: the space
// that is left, and whether the clock can be trusted.
package upkeep

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	// LowSpace is the free space, in bytes, below which a journal says so is set,
	// in addition to what the journal may still grow by. On small file systems it
	// is an eighth.
	LowSpace = 512 << 20
	// RemindEvery is how often the log repeats a warning, and tells what was removed.
	RemindEvery = time.Hour
)

// Space watches the free space of the folder's file system. Only the mover
// uses it: no request waits for a file system that hangs.
type Space struct {
	Measure  func() (free, total int64, ok bool)
	reminded time.Time
}

// Check returns the free space, and whether it is low if the journal may still grow
// by so much.
func (c *Space) Check(growth int64) (free int64, low bool) {
	free, total, ok := c.Measure()
	return free, ok && free < min(LowSpace, total/8)+growth
}

// Remind reports whether it is time for a warning.
func (c *Space) Remind(now time.Time) bool {
	if !c.reminded.IsZero() && now.Sub(c.reminded).Abs() < RemindEvery {
		return false
	}
	c.reminded = now
	return true
}

// Free returns the free and the whole space of the file system of an open
// folder, in bytes.
func Free(fd int) (free, total int64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return 0, 0, false
	}
	size := int64(st.Bsize) //nolint:unconvert // the types differ between systems
	return int64(st.Bavail) * size, int64(st.Blocks) * size, st.Blocks > 0
}

const (
	// SteadyFor is for how long a clock must not have jumped before decisions are
	// removed for their age: one that was set to a far year for a moment must not
	// empty the journal.
	SteadyFor = time.Hour
	// maxDrift is how far the clock may leave the time that has passed in between
	// two looks.
	maxDrift = time.Minute
)

// Clock tells whether the clock can be trusted. It is not steady at the
// start.
type Clock struct {
	start  time.Time     // its monotonic reading is used
	After  time.Duration // without a jump the clock is steady
	since  time.Duration // after start
	ahead  time.Duration // of the clock, at the latest look
	looked bool
}

// Steady reports whether the clock has not jumped for some time.
func (c *Clock) Steady(now time.Time) bool {
	if c.start.IsZero() {
		c.start = time.Now()
	}
	passed := time.Since(c.start)
	ahead := now.Round(0).Sub(c.start.Round(0)) - passed
	if c.looked && (ahead-c.ahead).Abs() > maxDrift {
		c.since = passed
	}
	c.ahead, c.looked = ahead, true
	return passed-c.since >= c.After
}
