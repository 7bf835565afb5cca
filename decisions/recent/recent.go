// Package recent counts the calls of the last minute, for rules that bound how often a tool
// is used. It decides nothing.
package recent

import (
	"hash/maphash"
	"math"
	"sync"
	"time"
)

const (
	// window is how far Calls looks back, and steps the number of parts of it
	// that are forgotten one by one.
	window = time.Minute
	steps  = 6

	// The size of the sketch: rows with an own hash, and counters in each.
	rows      = 4
	widthBits = 9
	width     = 1 << widthBits
)

// Calls counts the calls of the last minute by the user that they are said to be for, so
// that a rule can bound them. What it returns is never less than the true number: it uses
// a count-min sketch, whose memory does not grow with the number of names, counts whole
// steps of ten seconds, and takes all calls before it began for those of each user. It is
// safe for concurrent use.
type Calls struct {
	start  time.Time
	before int // calls in the minute before the start, of all users
	seeds  [rows]maphash.Seed
	// factors are odd, and others for each row, so that users of one name differ somewhere.
	factors [rows]uint64

	mu     sync.Mutex
	step   int64 // the newest step, since the start
	counts [steps + 1][rows][width]uint32
}

// New returns a Calls that begins now. before is the number of calls in the minute
// before, at least.
func New(now time.Time, before int) *Calls {
	r := &Calls{start: now, before: before}
	for i := range r.seeds {
		r.seeds[i] = maphash.MakeSeed()
		r.factors[i] = maphash.String(r.seeds[i], "factor") | 1
	}
	return r
}

// Add counts a call of a peer's user for a user as claimed, and returns how many there were
// within the last minute, this one included. A nil Calls counts this one alone.
func (r *Calls) Add(uid uint32, claimed string, now time.Time) int {
	if r == nil {
		return 1
	}
	var at [rows]uint64
	for i := range at {
		at[i] = (maphash.String(r.seeds[i], claimed) + uint64(uid)*r.factors[i]) >> (64 - widthBits)
	}
	since := now.Sub(r.start)
	r.mu.Lock()
	defer r.mu.Unlock()
	// A clock that was set back stands still until its latest time.
	const length = int64(window / steps)
	if step := int64(since) / length; step > r.step {
		for s := max(r.step+1, step-steps); s <= step; s++ {
			r.counts[s%(steps+1)] = [rows][width]uint32{}
		}
		r.step = step
	}
	least := uint32(math.MaxUint32)
	for row, i := range at {
		if c := &r.counts[r.step%(steps+1)][row][i]; *c < math.MaxUint32/(steps+1) {
			*c++
		}
		sum := uint32(0)
		for s := range r.counts {
			sum += r.counts[s][row][i]
		}
		least = min(least, sum)
	}
	n := int(least)
	if since < window {
		n += r.before
	}
	return n
}
