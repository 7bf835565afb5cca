package journal

import (
	"bytes"
	"context"
	"errors"
	"slices"
)

// request is the records of one Append on their way to the database.
type request struct {
	rows  []row
	text  bytes.Buffer // holds the records of all rows
	first int64        // sequence number of the first row, set by the writer
	turn  chan turn    // of one; what the caller waits for
	// answer is set instead of rows for a person's answer.
	answer *answer

	// chosen is set, under the lock, when the request's caller is to write.
	chosen bool
}

// turn tells a waiting caller that its records were written by another, or
// that it is the one to write now.
type turn struct {
	write bool
	err   error
}

var errPanicked = errors.New("the writer panicked")

// pass brings a request through the queue into the database. After an error
// another caller may still hold the request: it must not be used again.
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
	case t := <-req.turn:
		if t.write {
			return j.write(req)
		}
		return t.err
	case <-ctx.Done():
		j.withdraw(req)
		return ctx.Err()
	}
}

// withdraw takes back a request that still waits. One that is being written
// stays; what becomes of it nobody hears.
func (j *Journal) withdraw(req *request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if i := slices.Index(j.queue, req); i >= 0 {
		j.queue = slices.Delete(j.queue, i, i+1)
	}
	if req.chosen {
		j.next()
	}
}

// next chooses who writes next, the caller that has waited longest. The lock
// is held.
func (j *Journal) next() {
	if len(j.queue) > 0 {
		req := j.queue[0]
		req.chosen = true
		req.turn <- turn{write: true}
		return
	}
	j.busy = false
	if j.closed {
		close(j.idle)
	}
}

// write stores what has queued up, own among it, and tells the others.
func (j *Journal) write(own *request) (err error) {
	j.mu.Lock()
	batch := j.take()
	j.mu.Unlock()
	err = errPanicked
	defer func() {
		// Also on the way of a panic: the others must not wait for ever.
		j.mu.Lock()
		own.chosen = false
		j.next()
		j.mu.Unlock()
		for _, req := range batch {
			if req != own {
				req.turn <- turn{err: err}
			}
		}
	}()
	err = j.writer.commit(batch)
	j.stats.committed(batch, err)
	if err == nil {
		j.news.announce()
		j.folder.wrote(batch)
	}
	return err
}

// take removes a batch from the head of the queue. The lock is held.
func (j *Journal) take() []*request {
	n, rows := 0, 0
	for n < len(j.queue) && (n == 0 || rows < batchRows) {
		rows += len(j.queue[n].rows)
		n++
	}
	batch := slices.Clone(j.queue[:n])
	j.queue = slices.Delete(j.queue, 0, n)
	return batch
}
