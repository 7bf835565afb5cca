package journal

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// formatSplit is the form of records that share a body: the record is a JSON
// array with the values of its own (ownValues), the body is the rest of its
// JSON. Together they are the very bytes that were appended, so a hash of a
// record does not depend on how it is stored.
const formatSplit = 2

// ownValues are the names of the values that differ between a decision and its
// repetition, each with the text that follows the value. Within a text of the
// record the quotes would be escaped, so only the members themselves match; and
// what does not come together again as it was is stored whole.
//
// A new member of a record must not come between two that are neighbours here.
var ownValues = [...]struct{ name, after []byte }{
	{[]byte(`{"time":`), []byte(`,"peer":{"uid":`)},
	{[]byte(`,"pid":`), []byte(`},"agent":`)},
	{[]byte(`,"latencyNs":`), []byte(`,"decision":{"decisionId":`)},
	{[]byte(`"decisionId":`), []byte(`,"callId":`)},
	{[]byte(`,"callId":`), []byte(`,"verdict":`)},
}

var errSplit = errors.New("its parts do not fit together")

// ownText is the values of a record's own, as JSON.
type ownText [len(ownValues)]jsontext.Value

// split appends to body the part of a record's JSON that repetitions share. It is
// false if the record has another form.
func split(body, whole []byte) (_ []byte, own ownText, ok bool) {
	start := len(body)
	rest := whole
	for i := range ownValues {
		at := bytes.Index(rest, ownValues[i].name)
		if at < 0 {
			return body, own, false
		}
		at += len(ownValues[i].name)
		body, rest = append(body, rest[:at]...), rest[at:]
		end := bytes.Index(rest, ownValues[i].after)
		if end < 0 {
			return body, own, false
		}
		own[i], rest = jsontext.Value(rest[:end]), rest[end:]
	}
	body = append(body, rest...)
	return body, own, joins(body[start:], &own, whole)
}

// joins reports whether join makes the whole of these parts.
func joins(body []byte, own *ownText, whole []byte) bool {
	for i := range ownValues {
		at := bytes.Index(body, ownValues[i].name)
		if at < 0 {
			return false
		}
		at += len(ownValues[i].name)
		for _, part := range [...][]byte{body[:at], own[i]} {
			if !bytes.HasPrefix(whole, part) {
				return false
			}
			whole = whole[len(part):]
		}
		body = body[at:]
	}
	return bytes.Equal(body, whole)
}

// join appends the JSON of a record to b.
func join(b, body []byte, own *ownText) ([]byte, error) {
	for i := range ownValues {
		at := bytes.Index(body, ownValues[i].name)
		if at < 0 {
			return nil, errSplit
		}
		at += len(ownValues[i].name)
		b = append(append(b, body[:at]...), own[i]...)
		body = body[at:]
	}
	return append(b, body...), nil
}

// The values that are usually also in columns of the row, and are then null.
const (
	ownTime = 0
	ownID   = 3
)

// append appends the values as they are stored in a row of that id and time, a JSON
// array. It is false if they are no JSON.
func (o *ownText) append(b, id []byte, at int64) (_ []byte, ok bool) {
	const none = "null"
	b = append(b, '[')
	for i, value := range o {
		if i > 0 {
			b = append(b, ',')
		}
		start := len(b)
		var err error
		switch i {
		case ownTime:
			b = appendTime(b, at)
		case ownID:
			b, err = jsontext.AppendQuote(b, id)
		default:
			b = append(b, value...)
			if !value.IsValid() {
				return b, false
			}
			continue
		}
		inColumn := err == nil && bytes.Equal(b[start:], value)
		if !inColumn && (!value.IsValid() || string(value) == none) {
			return b, false
		}
		if b = b[:start]; inColumn {
			b = append(b, none...)
		} else {
			b = append(b, value...)
		}
	}
	return append(b, ']'), true
}

// decodeOwn reads what encode wrote.
func decodeOwn(data []byte, id string, at int64) (o ownText, err error) {
	list, err := strictjson.ParseArray(data)
	if err != nil {
		return o, fmt.Errorf("reading the values of a record's own: %w", err)
	}
	if len(list) != len(o) {
		return o, fmt.Errorf("reading the values of a record's own: there are %d, not %d", len(list), len(o))
	}
	copy(o[:], list)
	own, err := columnValues(id, at)
	for _, i := range []int{ownTime, ownID} {
		if string(o[i]) == "null" {
			o[i] = own[i]
		}
	}
	return o, err
}

// columnValues are the values that a row's columns tell.
func columnValues(id string, at int64) (o ownText, err error) {
	if o[ownID], err = jsontext.AppendQuote(nil, id); err != nil {
		return o, fmt.Errorf("quoting an id: %w", err)
	}
	o[ownTime] = appendTime(nil, at)
	return o, nil
}

// appendTime appends a time in nanoseconds as records have it.
func appendTime(b []byte, at int64) []byte {
	b = append(b, '"')
	b = time.Unix(0, at).UTC().AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

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
	case formatJSON:
		return r.record, nil
	case formatSplit:
		if r.body == nil {
			return nil, fmt.Errorf("record %d: what it shares with others is missing", r.seq)
		}
		own, err := decodeOwn(r.record, r.id, r.time)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", r.seq, err)
		}
		whole, err := join(nil, r.body, &own)
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
	}
	if err != nil {
		return nil, 0, fmt.Errorf("record %d: %w", r.seq, err)
	}
	return rec, len(data), nil
}
