package journal

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/body"
)

// row is a stored record as it is read.
type row struct {
	seq, format int64
	id          string
	time        int64
	record      []byte
	body        []byte // nil if it shares none
	answer      answerColumns
	ran         sql.NullInt64 // when its call has run
	endedAt     sql.NullInt64
	endedAs     sql.NullString
}

// rowColumns are what is read of a row, from rowTables.
const (
	rowColumns = `d.seq, d.format, d.id, d.time, d.record, b.text, d.answered_at, d.answer, d.answer_info, d.ran_at, d.ended_at, d.ended_as`
	rowTables  = ` FROM decisions d LEFT JOIN bodies b ON b.first = d.shared`
)

func (r *row) scan(scan func(...any) error) error {
	return scan(&r.seq, &r.format, &r.id, &r.time, &r.record, &r.body, &r.answer.at, &r.answer.verdict, &r.answer.info, &r.ran, &r.endedAt, &r.endedAs)
}

// json returns the record's JSON, as it was appended.
func (r *row) json() ([]byte, error) {
	switch r.format {
	case body.FormatWhole:
		return r.record, nil
	case body.FormatSplit:
		if r.body == nil {
			return nil, fmt.Errorf("record %d: what it shares with others is missing", r.seq)
		}
		own, err := body.DecodeOwn(r.record, r.id, r.time)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", r.seq, err)
		}
		whole, err := body.Join(nil, r.body, &own)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", r.seq, err)
		}
		return whole, nil
	}
	return nil, fmt.Errorf("record %d has format %d, which this version does not know", r.seq, r.format)
}

// decode reads the record, and returns its size.
func (r *row) decode() (rec *decisions.Record, size int, err error) {
	data, err := r.json()
	if err != nil {
		return nil, 0, err
	}
	if rec, err = Decode(data); err == nil {
		rec.Seq = r.seq
		err = r.answer.to(rec)
		rec.Ran = nil
		if r.ran.Valid {
			at := time.Unix(0, r.ran.Int64).UTC()
			rec.Ran = &at
		}
		rec.Ended = nil
		if r.endedAt.Valid {
			rec.Ended = &decisions.Ending{Time: time.Unix(0, r.endedAt.Int64).UTC(), As: r.endedAs.String}
		}
		takenBack(rec)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("record %d: %w", r.seq, err)
	}
	return rec, len(data), nil
}
