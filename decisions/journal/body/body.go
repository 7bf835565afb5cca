// Package body splits the JSON of a record into its body, which repetitions of the same
// call share, and the values of its own.
package body

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/internal/strictjson"
)

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

// How a record is stored.
const (
	// FormatWhole is its JSON, without the sequence number, which is only known when the
	// record is written.
	FormatWhole = 1
	// FormatSplit is a JSON array with the values of its own; the body is the rest of its JSON.
	// Together they are the very bytes that were appended, so a hash of a record does not
	// depend on how it is stored.
	FormatSplit = 2
)

const (
	// SharedFor is the number of decisions after the first for which a body is used again.
	SharedFor = 4096
	// SpanBits is the size of a span of decisions whose times are kept: 1024.
	SpanBits = 10
)

var errSplit = errors.New("its parts do not fit together")

// Own is the values of a record's own, as JSON.
type Own [len(ownValues)]jsontext.Value

// Split appends to body the part of a record's JSON that repetitions share. It is
// false if the record has another form.
func Split(body, whole []byte) (_ []byte, own Own, ok bool) {
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

// joins reports whether Join makes the whole of these parts.
func joins(body []byte, own *Own, whole []byte) bool {
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

// Join appends the JSON of a record to b.
func Join(b, body []byte, own *Own) ([]byte, error) {
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

// Append appends the values as they are stored in a row of that id and time, a JSON
// array. It is false if they are no JSON.
func (o *Own) Append(b, id []byte, at int64) (_ []byte, ok bool) {
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

// DecodeOwn reads what Append wrote.
func DecodeOwn(data []byte, id string, at int64) (o Own, err error) {
	var room Own
	list, err := strictjson.AppendArray(room[:0], data)
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
func columnValues(id string, at int64) (o Own, err error) {
	// Both are often made, and fit into one allocation.
	b := appendTime(make([]byte, 0, len(id)+len(time.RFC3339Nano)+len(`""""`)), at)
	n := len(b)
	if b, err = jsontext.AppendQuote(b, id); err != nil {
		return o, fmt.Errorf("quoting an id: %w", err)
	}
	o[ownTime], o[ownID] = b[:n:n], b[n:]
	return o, nil
}

// appendTime appends a time in nanoseconds as records have it.
func appendTime(b []byte, at int64) []byte {
	b = append(b, '"')
	b = time.Unix(0, at).UTC().AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}
