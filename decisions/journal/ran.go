package journal

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/chain"
)

// setRan adds to the row of a question that its call has run. The first report is kept.
const setRan = `UPDATE decisions SET ran_at = ? WHERE seq = ? AND ran_at IS NULL`

// Ran records that the call of a question was reported to have run, and returns when that
// is durable. It is no answer: Answer is neither set nor kept from being set. If the
// decision is not in the journal the error is ErrNotFound.
func (j *Journal) Ran(ctx context.Context, id string, at time.Time) error {
	seq, err := j.numberOf(ctx, id)
	if err != nil {
		return fmt.Errorf("noting that a call has run: %w", err)
	}
	// A separate request without records, not reused.
	req := &request{reply: make(chan reply, 1), frames: appendRan(nil, seq, at)}
	if err := j.pass(ctx, req); err != nil {
		return fmt.Errorf("noting that a call has run: %w", err)
	}
	return nil
}

// appendRan appends the frame of a report that the call of the record of that number has
// run.
func appendRan(b []byte, seq int64, at time.Time) []byte {
	start := len(b)
	b = append(b, make([]byte, frameBody)...)
	b[start+frameKind] = chain.Ran
	binary.LittleEndian.PutUint64(b[start+frameSeq:], uint64(seq))
	b = binary.LittleEndian.AppendUint64(b, uint64(at.UnixNano()))
	end(b[start:])
	return b
}

// setEnded adds to the row of a decision how its call ended. The first report is kept.
const setEnded = `UPDATE decisions SET ended_at = ?, ended_as = ? WHERE seq = ? AND ended_at IS NULL`

// Ended records how the call of a decision ended, as was reported, and returns when that is
// durable. It changes nothing of the decision or of an answer. If the decision is not in the
// journal the error is ErrNotFound.
func (j *Journal) Ended(ctx context.Context, id string, e decisions.Ending) error {
	seq, err := j.numberOf(ctx, id)
	if err != nil {
		return fmt.Errorf("noting how a call ended: %w", err)
	}
	req := &request{reply: make(chan reply, 1), frames: appendEnded(nil, seq, e)}
	if err := j.pass(ctx, req); err != nil {
		return fmt.Errorf("noting how a call ended: %w", err)
	}
	return nil
}

// appendEnded appends the frame of a report how the call of the record of that number ended.
func appendEnded(b []byte, seq int64, e decisions.Ending) []byte {
	start := len(b)
	b = append(b, make([]byte, frameBody)...)
	b[start+frameKind] = chain.Ended
	binary.LittleEndian.PutUint64(b[start+frameSeq:], uint64(seq))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Time.UnixNano()))
	b = append(b, e.As...)
	end(b[start:])
	return b
}

// ended returns how the call of a record ended by the spool, nil if it does not say.
func (c *spooledRecords) ended(seq int64) *decisions.Ending {
	for _, f := range c.endings {
		if f.seq == seq {
			return &decisions.Ending{Time: time.Unix(0, f.time).UTC(), As: string(f.json)}
		}
	}
	return nil
}

// ran sets when the call of a record has run by the spool.
func (c *spooledRecords) ran(seq int64) *time.Time {
	for _, f := range c.runs {
		if f.seq == seq {
			at := time.Unix(0, f.time).UTC()
			return &at
		}
	}
	return nil
}
