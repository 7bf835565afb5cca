package journal

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
)

// The statements that store a record.
const (
	insertRow = `INSERT INTO decisions
		(seq, format, id, time, uid, session, agent, tool, verdict, decided_by, latency, record, shared)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
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
	// sharedFor is the number of decisions after the first for which a body is
	// used again, and so a bound of the digests that are kept in RAM.
	sharedFor = 4096
	// maxKinds bounds the kinds whose numbers are kept in RAM.
	maxKinds = 4096
	// spanBits is the size of a span: 1024 decisions.
	spanBits = 10
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
	insert, body, listed, findKind, setNewest, span driver.Stmt

	kinds  map[kindKey]int64
	newest map[int64]int64    // of kinds, in this transaction
	spans  map[int64][2]int64 // oldest and newest time, in this transaction
	// bodies are the sequence numbers of bodies that can be used again, those of
	// the current and the previous half of sharedFor.
	bodies   [2]map[digest]int64
	bodyHalf int64
	buffer   []byte
}

// statements are what prepare prepares.
func (w *rowWriter) statements() []preparation {
	return []preparation{
		{&w.insert, insertRow}, {&w.body, insertBody}, {&w.listed, insertListed},
		{&w.findKind, findKind}, {&w.setNewest, setNewest}, {&w.span, widenSpan},
	}
}

// preparation is a statement to prepare.
type preparation struct {
	stmt  *driver.Stmt
	query string
}

// forget drops everything that is known of the database.
func (w *rowWriter) forget() {
	w.kinds, w.newest, w.spans = map[kindKey]int64{}, map[int64]int64{}, map[int64][2]int64{}
	w.bodies = [2]map[digest]int64{{}, {}}
}

// removed drops what retention may have removed: the bodies of decisions up to a
// number, and kinds.
func (w *rowWriter) removed(cut int64, kinds bool) {
	if kinds {
		w.kinds = map[kindKey]int64{}
	}
	for _, known := range w.bodies {
		maps.DeleteFunc(known, func(_ digest, first int64) bool { return first <= cut })
	}
}

// store stores a record.
func (w *rowWriter) store(f *frame) error {
	format, record, shared, err := w.split(f)
	if err != nil {
		return err
	}
	err = run(w.insert, numbered(f.seq, format, f.texts[textID], f.time, int64(f.uid),
		f.texts[textSession], f.texts[textAgent], f.texts[textTool], f.texts[textVerdict], f.texts[textBy],
		f.latency, record, shared))
	if err != nil {
		return err
	}
	kind, err := w.kind(f)
	if err != nil {
		return err
	}
	w.newest[kind] = f.seq
	times, ok := w.spans[f.seq>>spanBits]
	if !ok {
		times = [2]int64{f.time, f.time}
	}
	w.spans[f.seq>>spanBits] = [2]int64{min(times[0], f.time), max(times[1], f.time)}
	return run(w.listed, numbered(kind, f.seq, f.time))
}

// split stores the body of a record, unless it is there already, and returns what
// is in its row.
func (w *rowWriter) split(f *frame) (format int64, record []byte, shared driver.Value, err error) {
	body, own, ok := split(w.buffer[:0], f.json)
	if cap(body) <= keepBytes && body != nil {
		w.buffer = body
	}
	if !ok {
		return formatJSON, f.json, nil, nil
	}
	if record, err = own.encode(f.texts[textID], f.time); err != nil {
		return formatJSON, f.json, nil, nil //nolint:nilerr // stored whole
	}
	if half := f.seq / (sharedFor / 2); half != w.bodyHalf {
		previous := w.bodies[0]
		if half != w.bodyHalf+1 {
			previous = map[digest]int64{}
		}
		w.bodies, w.bodyHalf = [2]map[digest]int64{{}, previous}, half
	}
	sum := sha256.Sum256(body)
	for _, known := range w.bodies {
		if first, ok := known[sum]; ok {
			return formatSplit, record, first, nil
		}
	}
	if err := run(w.body, numbered(f.seq, body)); err != nil {
		return 0, nil, nil, err
	}
	w.bodies[0][sum] = f.seq
	return formatSplit, record, f.seq, nil
}

// kind returns the kind of a record.
func (w *rowWriter) kind(f *frame) (int64, error) {
	key := kindKey{
		f.uid, f.texts[textSession], f.texts[textAgent], f.texts[textTool], f.texts[textVerdict], f.texts[textBy], outcomeOf(f.json),
	}
	if kind, ok := w.kinds[key]; ok {
		return kind, nil
	}
	kind, err := queryNumber(w.findKind, numbered(int64(key.uid), key.session, key.agent, key.tool, key.verdict, key.decidedBy, key.outcome, f.seq))
	if err != nil {
		return 0, err
	}
	if len(w.kinds) >= maxKinds {
		w.kinds = map[kindKey]int64{}
	}
	w.kinds[key] = kind
	return kind, nil
}

// finish stores what the records of a transaction have changed for their kinds and
// spans.
func (w *rowWriter) finish() error {
	for kind, newest := range w.newest {
		if err := run(w.setNewest, numbered(newest, kind)); err != nil {
			return err
		}
	}
	for span, times := range w.spans {
		if err := run(w.span, numbered(span, times[0], times[1])); err != nil {
			return err
		}
	}
	clear(w.newest)
	clear(w.spans)
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
