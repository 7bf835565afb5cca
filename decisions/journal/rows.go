package journal

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/permd/permd/decisions/journal/body"
)

// The statements that store a record.
const (
	insertRow = `INSERT INTO decisions
		(seq, format, id, time, uid, session, agent, tool, verdict, decided_by, latency, record, shared, prev_hash, hash)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertBody   = `INSERT INTO bodies (first, text) VALUES (?, ?)`
	insertListed = `INSERT INTO listed (kind, seq, time) VALUES (?, ?, ?)`
	findKind     = `INSERT INTO kinds (uid, session, agent, tool, verdict, decided_by, outcome, oldest, newest)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?8, ?8)
		ON CONFLICT (session, tool, agent, uid, verdict, decided_by, outcome) DO UPDATE SET newest = excluded.newest
		RETURNING kind`
	setNewest = `UPDATE kinds SET newest = ? WHERE kind = ?`
	widenSpan = `INSERT INTO spans (span, oldest, newest) VALUES (?, ?, ?)
		ON CONFLICT (span) DO UPDATE SET oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest)`
)

const (
	// maxKinds bounds the kinds whose numbers are kept in RAM.
	maxKinds = 4096
	// Arguments of insertRow.
	rowPrevHash = 13
	rowHash     = 14
)

// kindKey is a mixture of values that lists are filtered by.
type kindKey struct {
	uid                                               uint32
	session, agent, tool, verdict, decidedBy, outcome string
}

// digest identifies a body.
type digest = [sha256.Size]byte

// rowWriter stores records with what they are found by. What it keeps in RAM is
// valid between a commit and the next one; forget drops it.
type rowWriter struct {
	insert, body, listed, findKind, setNewest, span statement

	kinds map[kindKey]int64
	// last is the kind of the record before, 0 if it is not known. Most have the same.
	last    int64
	lastKey kindKey
	newest  map[int64]int64    // of kinds, in this transaction
	spans   map[int64][2]int64 // oldest and newest time, in this transaction
	// bodies are the sequence numbers of bodies that can be used again, those of
	// the current and the previous half of body.SharedFor.
	bodies   [2]map[digest]driver.Value
	bodyHalf int64
	// Buffers of split.
	shared, own []byte
}

// statements are what prepare prepares.
func (w *rowWriter) statements() []preparation {
	return []preparation{
		{&w.insert, insertRow, 15}, {&w.body, insertBody, 2}, {&w.listed, insertListed, 3},
		{&w.findKind, findKind, 8}, {&w.setNewest, setNewest, 2}, {&w.span, widenSpan, 3},
	}
}

// preparation is a statement to prepare, with the number of its arguments.
type preparation struct {
	stmt  *statement
	query string
	args  int
}

// forget drops everything that is known of the database.
func (w *rowWriter) forget() {
	w.kinds, w.newest, w.spans = map[kindKey]int64{}, map[int64]int64{}, map[int64][2]int64{}
	w.bodies = [2]map[digest]driver.Value{{}, {}}
	w.last = 0
}

// removed drops what retention may have removed: the bodies of decisions up to a
// number, and kinds.
func (w *rowWriter) removed(cut int64, kinds bool) {
	if kinds {
		w.kinds, w.last = map[kindKey]int64{}, 0
	}
	for _, known := range w.bodies {
		maps.DeleteFunc(known, func(_ digest, first driver.Value) bool { return first.(int64) <= cut })
	}
}

// store stores a record.
func (w *rowWriter) store(f *frame) error {
	format, record, shared, err := w.split(f)
	if err != nil {
		return err
	}
	row := &w.insert
	row.number(0, f.seq)
	row.number(1, format)
	row.text(2, f.texts[textID])
	row.number(3, f.time)
	row.number(4, int64(f.uid))
	for i, text := range [...]int{textSession, textAgent, textTool, textVerdict, textBy} {
		row.text(5+i, f.texts[text])
	}
	row.number(10, f.latency)
	row.bytes(11, record)
	row.value(12, shared)
	if err := row.run(); err != nil {
		return err
	}
	kind, err := w.kind(f)
	if err != nil {
		return err
	}
	w.newest[kind] = f.seq
	times, ok := w.spans[f.seq>>body.SpanBits]
	if !ok {
		times = [2]int64{f.time, f.time}
	}
	w.spans[f.seq>>body.SpanBits] = [2]int64{min(times[0], f.time), max(times[1], f.time)}
	w.listed.number(0, kind)
	w.listed.value(1, row.args[0].Value)
	w.listed.value(2, row.args[3].Value)
	return w.listed.run()
}

// split stores the body of a record, unless it is there already, and returns what
// is in its row. The record is valid until the next call.
func (w *rowWriter) split(f *frame) (format int64, record []byte, shared driver.Value, err error) {
	shares, own, ok := body.Split(kept(w.shared), f.json)
	w.shared = shares
	if !ok {
		return body.FormatWhole, f.json, nil, nil
	}
	if record, ok = own.Append(kept(w.own), f.texts[textID], f.time); !ok {
		return body.FormatWhole, f.json, nil, nil // stored whole
	}
	w.own = record
	if half := f.seq / (body.SharedFor / 2); half != w.bodyHalf {
		previous := w.bodies[0]
		if half != w.bodyHalf+1 {
			previous = map[digest]driver.Value{}
		}
		w.bodies, w.bodyHalf = [2]map[digest]driver.Value{{}, previous}, half
	}
	sum := sha256.Sum256(shares)
	for _, known := range w.bodies {
		if first, ok := known[sum]; ok {
			return body.FormatSplit, record, first, nil
		}
	}
	w.body.number(0, f.seq)
	w.body.bytes(1, shares)
	if err := w.body.run(); err != nil {
		return 0, nil, nil, err
	}
	w.bodies[0][sum] = f.seq
	return body.FormatSplit, record, f.seq, nil
}

// kept returns a buffer to use again, empty, nil if it has grown large.
func kept(b []byte) []byte {
	if cap(b) > keepBytes {
		return nil
	}
	return b[:0]
}

// kind returns the kind of a record.
func (w *rowWriter) kind(f *frame) (int64, error) {
	outcome := column(string(body.Outcome(f.json)))
	if w.last != 0 && w.lastKey.is(f, outcome) {
		return w.last, nil
	}
	key := kindKey{
		f.uid, string(f.texts[textSession]), string(f.texts[textAgent]), string(f.texts[textTool]),
		string(f.texts[textVerdict]), string(f.texts[textBy]), outcome,
	}
	kind, ok := w.kinds[key]
	if !ok {
		var err error
		kind, err = queryNumber(w.findKind.Stmt, numbered(int64(key.uid), key.session, key.agent, key.tool, key.verdict, key.decidedBy, key.outcome, f.seq))
		if err != nil {
			return 0, err
		}
		if len(w.kinds) >= maxKinds {
			w.kinds = map[kindKey]int64{}
		}
		w.kinds[key] = kind
	}
	w.last, w.lastKey = kind, key
	return kind, nil
}

// is reports whether that is the key of a record with that outcome.
func (k *kindKey) is(f *frame, outcome string) bool {
	return k.uid == f.uid && k.session == string(f.texts[textSession]) && k.agent == string(f.texts[textAgent]) && k.tool == string(f.texts[textTool]) &&
		k.verdict == string(f.texts[textVerdict]) && k.decidedBy == string(f.texts[textBy]) && k.outcome == outcome
}

// finish stores what the records of a transaction have changed for their kinds and
// spans.
func (w *rowWriter) finish() error {
	for kind, newest := range w.newest {
		w.setNewest.number(0, newest)
		w.setNewest.number(1, kind)
		if err := w.setNewest.run(); err != nil {
			return err
		}
	}
	for span, times := range w.spans {
		w.span.number(0, span)
		w.span.number(1, times[0])
		w.span.number(2, times[1])
		if err := w.span.run(); err != nil {
			return err
		}
	}
	clear(w.newest)
	clear(w.spans)
	w.insert.bytes(11, nil)
	w.body.bytes(1, nil)
	return nil
}

// queryNumber runs a statement that returns one number.
func queryNumber(stmt driver.Stmt, args []driver.NamedValue) (n int64, err error) {
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(context.Background(), args)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(values); err != nil {
		return 0, err
	}
	n, ok := values[0].(int64)
	if !ok {
		return 0, fmt.Errorf("have %T, want a number", values[0])
	}
	// To its end: a statement that is not finished holds the transaction.
	if err := rows.Next(values); !errors.Is(err, io.EOF) {
		return 0, errors.Join(errors.New("more than one row"), err)
	}
	return n, nil
}
