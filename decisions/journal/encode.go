package journal

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/strictjson"
)

// formatJSON is the form of the stored records: JSON, without the sequence
// number, which is only known when the row is written.
const formatJSON = 1

// encoding keeps what is not UTF-8, such as a file's name, as U+FFFD: a record
// that could not be stored would turn its decision into a question. A record's
// names are those of its structs, so looking for duplicates would only cost a
// fifth of the time; the reader looks for them.
var encoding = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// Encode returns a record as one line of JSON, without a line feed: what
// lists print and what is stored, the sequence number aside.
func Encode(rec *decisions.Record) ([]byte, error) {
	data, err := json.Marshal(rec, encoding)
	if err != nil {
		return nil, fmt.Errorf("encoding record: %w", err)
	}
	return data, nil
}

// Decode reads a record from the form that Encode makes.
func Decode(data []byte) (*decisions.Record, error) {
	var rec decisions.Record
	if err := strictjson.Unmarshal(data, &rec); err != nil {
		return nil, fmt.Errorf("decoding record: %w", err)
	}
	return &rec, nil
}

// row is one record as the writer stores it, ready to be bound: the values of
// insert in their order, sequence number first.
type row [insertColumns]driver.NamedValue

// fill encodes the records into rows.
func (r *request) fill(recs []*decisions.Record) error {
	r.rows, r.first = r.rows[:0], 0
	r.text.Reset()
	ends := make([]int, 0, 8)
	for _, rec := range recs {
		if rec.Decision.ID == "" || rec.Time.IsZero() {
			return fmt.Errorf("%w: it has no id or no time", ErrRecord)
		}
		stored := *rec
		stored.Seq = 0
		if err := json.MarshalWrite(&r.text, &stored, encoding); err != nil {
			return fmt.Errorf("%w: %w", ErrRecord, err)
		}
		ends = append(ends, r.text.Len())
	}
	// Only now, since the buffer moves while it grows.
	start := 0
	for i, rec := range recs {
		data := r.text.Bytes()[start:ends[i]]
		if len(data) > MaxRecord {
			return fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrRecord, len(data), MaxRecord)
		}
		r.rows = append(r.rows, rowOf(rec, data))
		start = ends[i]
	}
	return nil
}

func rowOf(rec *decisions.Record, data []byte) row {
	d := &rec.Decision
	r := row{
		{}, {Value: int64(formatJSON)}, {Value: d.ID}, {Value: rec.Time.UnixNano()}, {Value: int64(rec.Peer.UID)},
		{Value: column(rec.Session.ID)}, {Value: column(rec.Agent.Name)}, {Value: column(rec.Tool)},
		{Value: string(d.Verdict)}, {Value: string(d.By)}, {Value: rec.LatencyNS}, {Value: data},
	}
	for i := range r {
		r[i].Ordinal = i + 1
	}
	return r
}

// maxColumn bounds names in the columns that lists are filtered by; the record
// holds the whole of them.
const maxColumn = 1024

// column is a name as it stands in its column.
func column(s string) string {
	if len(s) > maxColumn {
		n := maxColumn
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
