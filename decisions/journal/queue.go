package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// request is the frames of one Append on their way to the spool.
type request struct {
	frames []byte
	rows   int        // records among them
	first  int64      // sequence number of the first record, set by the writer
	reply  chan reply // capacity 1; what the caller waits for

	// probe is set for a request without records, write if it writes to the disk all the
	// same.
	probe, write bool

	// chosen is set, under the lock, if the request's caller is to write.
	chosen bool
}

// reply tells a waiting caller that its records were written by another, or
// that it is the one to write now.
type reply struct {
	write bool
	err   error
}

var errPanicked = errors.New("the writer panicked")

// pass passes a request through the queue into the spool. After an error
// another caller may still hold the request: it must not be reused.
func (j *Journal) pass(ctx context.Context, req *request) error {
	select {
	case j.slots <- struct{}{}:
	default:
		select {
		case j.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		case <-j.quit:
			return ErrClosed
		}
	}
	defer func() { <-j.slots }()
	if err := j.waitForRoom(ctx); err != nil {
		return err
	}

	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return ErrClosed
	}
	j.queue = append(j.queue, req)
	if !j.busy {
		j.busy = true
		j.mu.Unlock()
		return j.write(req)
	}
	j.mu.Unlock()

	select {
	case t := <-req.reply:
		if t.write {
			return j.write(req)
		}
		return t.err
	case <-ctx.Done():
		j.withdraw(req)
		return ctx.Err()
	}
}

// waitForRoom waits while the spool is above its limit. If the database accepts
// nothing, waiting would only block all callers.
func (j *Journal) waitForRoom(ctx context.Context) error {
	for j.spool.waiting.Load() >= j.maxWaiting {
		tried, err := j.mover.state()
		if err != nil {
			return fmt.Errorf("the spool is full: %w", err)
		}
		j.mover.moveNow()
		select {
		case <-tried:
		case <-ctx.Done():
			return ctx.Err()
		case <-j.quit:
			return ErrClosed
		}
	}
	return nil
}

// withdraw removes a request that is still waiting. One that is being written
// stays; its result is discarded.
func (j *Journal) withdraw(req *request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if i := slices.Index(j.queue, req); i >= 0 {
		j.queue = slices.Delete(j.queue, i, i+1)
	}
	if req.chosen {
		j.pickNext()
	}
}

// pickNext chooses the caller that writes next, the one that has waited
// longest. The lock is held.
func (j *Journal) pickNext() {
	if len(j.queue) > 0 {
		req := j.queue[0]
		req.chosen = true
		req.reply <- reply{write: true}
		return
	}
	j.busy = false
	if j.closed {
		close(j.idle)
	}
}

// write stores everything in the queue, its own request among it, and notifies
// the others.
func (j *Journal) write(own *request) (err error) {
	j.mu.Lock()
	batch := j.take()
	j.mu.Unlock()
	err = errPanicked
	defer func() {
		// Also after a panic: the others must not wait for ever.
		j.mu.Lock()
		own.chosen = false
		j.pickNext()
		j.mu.Unlock()
		for _, req := range batch {
			if req != own {
				req.reply <- reply{err: err}
			}
		}
	}()
	j.prompt.Store(false)
	began := time.Now()
	err = j.commit(batch)
	j.prompt.Store(err == nil && time.Since(began) < promptWrite)
	j.stats.committed(batch, err)
	if only, _ := probed(batch); err == nil && !only {
		j.news.announce()
	}
	return err
}

// commit stores a batch and sets the requests' first sequence numbers.
func (j *Journal) commit(batch []*request) error {
	if only, write := probed(batch); only {
		err := j.spool.touch(write)
		if err != nil {
			j.mover.moveNow()
		}
		return err
	}
	next := j.next
	all := batch[0].frames
	if len(batch) > 1 {
		all = nil
	}
	for _, req := range batch {
		req.first = next
		next = stamp(req.frames, next)
		if len(batch) > 1 {
			all = append(all, req.frames...)
		}
	}
	waiting, err := j.spool.append(all)
	if err != nil {
		// If a file is missing, the mover may recreate it.
		j.mover.moveNow()
		return err
	}
	j.next = next
	j.mover.appended(waiting, int64(len(all)))
	return nil
}

// take removes a batch from the head of the queue. The lock is held.
func (j *Journal) take() []*request {
	n, rows := 0, 0
	for n < len(j.queue) && (n == 0 || rows < batchRows) {
		rows += j.queue[n].rows
		n++
	}
	batch := slices.Clone(j.queue[:n])
	j.queue = slices.Delete(j.queue, 0, n)
	return batch
}
