package journal

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permd/permd/decisions"
)

// pageRows is how many records are read at once, so that no read delays a
// checkpoint of the write-ahead log for long.
const pageRows = 256

// pollEvery is how often a follower polls a journal that another process
// writes.
const pollEvery = 250 * time.Millisecond

// Follow yields the records after a sequence number as they are stored, each
// once and in order, until ctx ends or the journal is closed, neither of which
// yields an error. After an error it ends.
func (r *Reader) Follow(ctx context.Context, after int64) iter.Seq2[*decisions.Record, error] {
	return func(yield func(*decisions.Record, error) bool) {
		r.news.join()
		defer r.news.leave()
		for {
			// Taken before reading: records stored after the read wake us.
			next := r.news.next()
			recs, err := r.nextRecords(ctx, after)
			if ctx.Err() != nil || r.news.ended() {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("following decisions: %w", err))
				return
			}
			for _, rec := range recs {
				if !yield(rec, nil) {
					return
				}
				after = rec.Seq
			}
			if len(recs) > 0 {
				continue // there may be more than one page
			}
			if !r.sleep(ctx, next) {
				return
			}
		}
	}
}

// sleep waits until there may be something new; it returns false to end.
func (r *Reader) sleep(ctx context.Context, next <-chan struct{}) bool {
	var tick <-chan time.Time
	if !r.live {
		timer := time.NewTimer(pollEvery)
		defer timer.Stop()
		tick = timer.C
	}
	select {
	case <-next:
	case <-tick:
	case <-ctx.Done():
		return false
	case <-r.news.end:
		return false
	}
	return true
}

// nextRecords returns the next records after a sequence number.
func (r *Reader) nextRecords(ctx context.Context, after int64) (recs []*decisions.Record, err error) {
	err = r.withView(ctx, func(v *view) (err error) {
		p := &page{limit: pageRows}
		if err := v.query(ctx, p, " WHERE d.seq > ? ORDER BY d.seq LIMIT ?", after, pageRows); err != nil {
			return err
		}
		for i := range v.records {
			if r := &v.records[i]; r.seq > after && !p.full() {
				if err := v.take(p, &filter{}, r); err != nil {
					return err
				}
			}
		}
		recs = p.recs
		return nil
	})
	return recs, err
}

// announcer wakes followers. It costs the writer nothing while nobody follows.
type announcer struct {
	followers atomic.Int64
	mu        sync.Mutex
	c         chan struct{} // closed at the next announcement
	end       chan struct{} // closed when the journal closes
	stopped   bool
}

func (n *announcer) join()  { n.followers.Add(1) }
func (n *announcer) leave() { n.followers.Add(-1) }

func (n *announcer) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.c
}

// announce wakes all callers that took next before. A follower that joins after
// the check reads what was committed before it.
func (n *announcer) announce() {
	if n.followers.Load() == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.c)
	n.c = make(chan struct{})
}

func (n *announcer) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.stopped {
		n.stopped = true
		close(n.end)
	}
}

func (n *announcer) ended() bool {
	select {
	case <-n.end:
		return true
	default:
		return false
	}
}
