package journal

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"
)

// setRan adds to the row of a question that its call has run. The first report is kept.
const setRan = `UPDATE decisions SET ran_at = ? WHERE seq = ? AND ran_at IS NULL`

// Ran records that the call of a question was reported to have run, and returns when that
// is durable. It is no answer: Answer is neither set nor kept from being set. If the
// decision is not in the journal the error is ErrNotFound.
func (j *Journal) Ran(ctx context.Context, id string, at time.Time) error {
	rec, err := j.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("noting that a call has run: %w", err)
	}
	// A separate request without records, not reused.
	req := &request{reply: make(chan reply, 1), frames: appendRan(nil, rec.Seq, at)}
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
	b[start+frameKind] = kindRan
	binary.LittleEndian.PutUint64(b[start+frameSeq:], uint64(seq))
	b = binary.LittleEndian.AppendUint64(b, uint64(at.UnixNano()))
	end(b[start:])
	return b
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
