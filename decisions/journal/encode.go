package journal

import (
	"errors"
	"fmt"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// Decode reads a record from one line of JSON: the form that lists print and, except for
// the sequence number, the stored one.
func Decode(data []byte) (*decisions.Record, error) {
	var rec decisions.Record
	if err := strictjson.Unmarshal(data, &rec); err != nil {
		return nil, fmt.Errorf("decoding record: %w", err)
	}
	return &rec, nil
}

// fill encodes the records into frames.
func (r *request) fill(recs []*decisions.Record) error {
	r.frames, r.rows, r.first = r.frames[:0], len(recs), 0
	for _, rec := range recs {
		if rec.Decision.ID == "" || rec.Time.IsZero() {
			return fmt.Errorf("%w: it has no id or no time", ErrRecord)
		}
		start := len(r.frames)
		r.frames = beginRecord(r.frames, rec)
		body := len(r.frames)
		stored := *rec
		stored.Seq = 0
		var err error
		// A record that could not be stored would turn its decision into a
		// question, so a name that is not UTF-8 is stored with U+FFFD.
		if r.frames, err = stored.AppendJSON(r.frames); err != nil && !errors.Is(err, decisions.ErrNotUTF8) {
			return fmt.Errorf("%w: %w", ErrRecord, err)
		}
		if n := len(r.frames) - body; n > MaxRecord {
			return fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrRecord, n, MaxRecord)
		}
		end(r.frames[start:])
	}
	return nil
}
