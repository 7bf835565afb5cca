package verify

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/permd/permd/decisions/journal/body"
	"github.com/permd/permd/decisions/journal/chain"
	"github.com/permd/permd/decisions/journal/names"
	"github.com/permd/permd/decisions/tally"
)

// entry is an entry of the chain as it is stored.
type entry struct {
	kind       byte
	seq        int64
	place      int64 // the newest record up to it
	n          int64 // what number it had, of what was added to a record
	time       int64 // of a record
	idText     string
	prev, hash []byte
	content    chain.Hash // of what is stored
	linked     bool       // its hash is the one that it should have
	bad        string     // why there is no content
	odd        string     // what is wrong with columns beside the record
	added      []addition
	misplaced  misplaced // how lists find a record
	// contentAt is the content if the record had another number.
	contentAt func(seq int64) chain.Hash

	row rawRow

	// Of a record of a span whose names are wanted.
	names  []names.Name
	values tally.Values
}

// at is an entry that is not there.
func at(seq int64) *entry { return &entry{seq: seq} }

// addition is what was added to a record.
type addition struct {
	kind    byte
	content chain.Hash
}

// rawRow are the columns of selectVerified.
type rawRow [22]driver.Value

func (e *entry) id() string { return e.idText }

// should returns the hash that the entry should have.
func (e *entry) should(id *chain.ID, prev *chain.Hash) chain.Hash {
	if e.linked {
		return chain.Hash(e.hash)
	}
	return chain.Linked(id, prev, &e.content)
}

// name says what was added to a record.
func (e *entry) name() string {
	switch e.kind {
	case chain.Answer:
		return "its answer"
	case chain.Ran:
		return "the report that its call has run"
	case chain.Ended:
		return "the report how its call ended"
	}
	return "the decision"
}

// wrong says what is wrong with an entry whose hash is.
func (e *entry) wrong() string {
	if e.bad != "" {
		return "it is not what was stored: " + e.bad
	}
	if e.kind != chain.Record {
		return "the hash of " + e.name() + " is not what was stored"
	}
	return "it is not what was stored"
}

// Queries that read the chain in its order, the bodies in the order in which they are
// first used.
const (
	selectVerified = `SELECT seq, format, id, time, uid, session, agent, tool, verdict, decided_by, latency, record, shared,
		prev_hash, hash, answered_at, answer, answer_info, ran_at, ended_at, ended_as FROM decisions ORDER BY seq`
	selectNotes  = `SELECT seq, after, kind, content, prev_hash, hash, n FROM notes ORDER BY after, n`
	selectBodies = `SELECT first, text FROM bodies ORDER BY first`
	selectBody   = `SELECT text FROM bodies WHERE first = ?`
	selectBounds = `SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM decisions`
)

// The columns of selectVerified.
const (
	colSeq = iota
	colFormat
	colID
	colTime
	colUID
	colSession
	colAgent
	colTool
	colVerdict
	colBy
	colLatency
	colRecord
	colShared
	colPrev
	colHash
	colAnsweredAt
	colAnswer
	colAnswerInfo
	colRanAt
	colEndedAt
	colEndedAs
	colBody // set beside it
)

// verifyBatch is how many entries are worked on at once.
const verifyBatch = 256

// entryBatch are entries on their way. They are used again: who keeps one copies it.
type entryBatch struct {
	entries []entry
	done    chan struct{} // capacity 1: their contents are made
}

// readEntries calls next with each entry of the chain, in order. SQLite is read by one
// goroutine, and the contents are made by others.
func (v *verifier) readEntries(ctx context.Context, conn *sql.Conn) error {
	var low, high int64
	if err := conn.QueryRowContext(ctx, selectBounds).Scan(&low, &high); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	spans := maps.Clone(v.o.Names) // v.o.Names is changed while it is read
	ordered, work := make(chan *entryBatch, 16), make(chan *entryBatch, 16)
	var workers sync.WaitGroup
	for range max(1, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			var b buffers
			var n namer
			for batch := range work {
				for i := range batch.entries {
					if batch.entries[i].kind == chain.Record {
						n.fill(&batch.entries[i], spans)
					}
					b.fill(&batch.entries[i], &v.id, v.start, v.lists, v.o.Outcome)
				}
				batch.done <- struct{}{}
			}
		})
	}
	var read error
	free := sync.Pool{New: func() any { return &entryBatch{make([]entry, 0, verifyBatch), make(chan struct{}, 1)} }}
	workers.Go(func() {
		defer close(ordered)
		defer close(work)
		read = conn.Raw(func(raw any) error {
			return v.lists.readRaw(ctx, raw.(driver.Conn), &free, func(b *entryBatch) error {
				for _, to := range []chan *entryBatch{work, ordered} {
					select {
					case to <- b:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				return nil
			})
		})
	})
	for batch := range ordered {
		<-batch.done
		for i := range batch.entries {
			e := &batch.entries[i]
			if e.kind == chain.Record {
				v.rows.add(e, v.o.Names)
			}
			v.next(e)
		}
		if n := len(batch.entries); v.o.Progress != nil && n > 0 {
			v.o.Progress(batch.entries[n-1].place-low+1, high-low+1)
		}
		batch.entries = batch.entries[:0]
		free.Put(batch)
	}
	v.rows.finish()
	workers.Wait()
	return read
}

// readRaw reads rows and notes in the order of the chain.
func (l *lists) readRaw(ctx context.Context, conn driver.Conn, free *sync.Pool, send func(*entryBatch) error) (err error) {
	var cursors [3]*cursor
	for i, text := range []string{selectVerified, selectNotes, selectBodies} {
		c, err := query(conn, text)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		if err := c.next(); err != nil {
			return err
		}
		cursors[i] = c
	}
	rows, notes := cursors[0], cursors[1]
	bodies := &bodyReader{conn: conn, c: cursors[2], other: map[int64][]byte{}}
	batch := free.Get().(*entryBatch)
	for rows.more || notes.more {
		batch.entries = batch.entries[:len(batch.entries)+1]
		e := &batch.entries[len(batch.entries)-1]
		if from := rows; !rows.more || notes.more && number(notes.row[1]) < number(rows.row[colSeq]) {
			from = notes
			e.setNote(notes.row)
			err = from.next()
		} else {
			if err = e.setRow(rows.row, bodies); err == nil {
				err = from.next()
			}
		}
		if err != nil {
			return err
		}
		if len(batch.entries) == verifyBatch {
			if err := send(batch); err != nil {
				return err
			}
			batch = free.Get().(*entryBatch)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	l.bodies, err = bodies.surplus()
	if err != nil {
		return err
	}
	return send(batch)
}

func number(v driver.Value) int64 {
	n, _ := v.(int64)
	return n
}

func blob(v driver.Value) []byte {
	b, _ := v.([]byte)
	return b
}

// setNote sets the entry to a row of notes.
func (e *entry) setNote(row []driver.Value) {
	*e = entry{seq: number(row[0]), place: number(row[1]), prev: blob(row[4]), hash: blob(row[5]), n: number(row[6])}
	if kind := number(row[2]); kind > chain.Record && kind <= chain.Ended {
		e.kind = byte(kind)
	} else {
		e.bad = "its kind is not known"
	}
	if content := blob(row[3]); len(content) == len(e.content) {
		e.content = chain.Hash(content)
	} else {
		e.bad = "what was added has no hash"
	}
}

// setRow sets the entry to a row of decisions.
func (e *entry) setRow(row []driver.Value, bodies *bodyReader) error {
	*e = entry{added: e.added[:0], kind: chain.Record, seq: number(row[colSeq]), time: number(row[colTime]), prev: blob(row[colPrev]), hash: blob(row[colHash])}
	e.place = e.seq
	e.idText, _ = row[colID].(string)
	copy(e.row[:], row)
	if shared, ok := row[colShared].(int64); ok {
		body, err := bodies.get(shared, e.seq)
		if err != nil {
			return err
		}
		if body != nil {
			e.row[colBody] = body
		}
	}
	return nil
}

// bodyReader reads bodies about in the order in which records use them.
type bodyReader struct {
	conn   driver.Conn
	c      *cursor
	known  []knownBody // in their order
	unused int64       // that were dropped from known
	// other are bodies that were read by themselves.
	other map[int64][]byte
}

// knownBody is a body that was read.
type knownBody struct {
	first int64
	text  []byte
	used  bool // by a record
}

// surplus returns how many bodies no record has used.
func (b *bodyReader) surplus() (int64, error) {
	b.drop(math.MaxInt64)
	for b.c.more {
		b.unused++
		if err := b.c.next(); err != nil {
			return 0, err
		}
	}
	return b.unused, nil
}

// drop forgets the bodies before a number.
func (b *bodyReader) drop(before int64) {
	n := 0
	for ; n < len(b.known) && b.known[n].first < before; n++ {
		if !b.known[n].used {
			b.unused++
		}
	}
	b.known = slices.Delete(b.known, 0, n)
}

// get returns a body, nil if there is none.
func (b *bodyReader) get(first, seq int64) ([]byte, error) {
	for b.c.more && number(b.c.row[0]) <= min(first, seq) {
		b.known = append(b.known, knownBody{number(b.c.row[0]), blob(b.c.row[1]), false})
		if err := b.c.next(); err != nil {
			return nil, err
		}
	}
	if len(b.known) > 4*body.SharedFor {
		b.drop(seq - 2*body.SharedFor)
		clear(b.other)
	}
	if i, ok := b.find(first); ok {
		b.known[i].used = true
		return b.known[i].text, nil
	}
	if text, ok := b.other[first]; ok {
		return text, nil
	}
	c, err := query(b.conn, selectBody, driver.NamedValue{Ordinal: 1, Value: first})
	if err != nil {
		return nil, err
	}
	err = c.next()
	text := blob(c.row[0])
	if err != nil || !c.more {
		text = nil
	}
	if text != nil {
		b.other[first] = text
	}
	return text, errors.Join(err, c.close())
}

// find returns where a body is in known. Most records have the latest.
func (b *bodyReader) find(first int64) (int, bool) {
	if n := len(b.known) - 1; n >= 0 && b.known[n].first == first {
		return n, true
	}
	return slices.BinarySearchFunc(b.known, first, func(k knownBody, first int64) int { return cmp.Compare(k.first, first) })
}
