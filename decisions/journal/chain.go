package journal

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/permd/permd/decisions/journal/chain"
)

// Bounds of how far the chain is ahead of the newest head that Options.Head got.
const (
	headEntries = 1000
	headEvery   = time.Minute
)

// chainWriter is the chain as it is written. What add sets has fixed addresses: statements
// have them as arguments.
type chainWriter struct {
	id              chain.ID
	start, newest   int64
	entries         int64
	head, prev      chain.Hash // of the newest entry, and of the one before
	content         chain.Hash // of the newest entry
	buf             []byte
	insert, advance statement
}

const (
	selectChain = `SELECT id, start, newest, entries, head FROM chain`
	beginChain  = `UPDATE retained SET hash = NULL, entries = 0;
		INSERT OR REPLACE INTO chain
		SELECT 1, randomblob(16), max(coalesce((SELECT max(seq) FROM decisions), 0), cut), max(coalesce((SELECT max(seq) FROM decisions), 0), cut), 0, NULL, 0, NULL FROM retained`
	advanceChain = `UPDATE chain SET newest = ?, entries = ?, head = ?`
	insertNote   = `INSERT INTO notes (n, after, seq, kind, content, prev_hash, hash) VALUES (?, ?, ?, ?, ?, ?, ?)`
)

// load reads the chain's end. Where that cannot be used, which no permd has brought
// about, another chain begins: decisions must still be stored, and verifying finds it.
func (c *chainWriter) load(ctx context.Context, conn *sql.Conn) error {
	for range 2 {
		var id, head []byte
		err := conn.QueryRowContext(ctx, selectChain).Scan(&id, &c.start, &c.newest, &c.entries, &head)
		if err == nil && len(id) == len(c.id) && (head == nil || len(head) == len(c.head)) {
			copy(c.id[:], id)
			if c.head = chain.Genesis(c.id, c.start); head != nil {
				copy(c.head[:], head)
			}
			return nil
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("reading the chain: %w", err)
		}
		if _, err := conn.ExecContext(ctx, beginChain); err != nil {
			return fmt.Errorf("beginning a chain: %w", err)
		}
	}
	return fmt.Errorf("reading the chain: %w", sql.ErrNoRows)
}

// statements are what writer prepares.
func (c *chainWriter) statements() []preparation {
	return []preparation{{&c.insert, insertNote, 7}, {&c.advance, advanceChain, 3}}
}

// bind makes the hashes arguments of the statements.
func (c *chainWriter) bind(row *statement) {
	row.bytes(rowPrevHash, c.prev[:])
	row.bytes(rowHash, c.head[:])
	c.insert.bytes(4, c.content[:])
	c.insert.bytes(5, c.prev[:])
	c.insert.bytes(6, c.head[:])
	c.advance.bytes(2, c.head[:])
}

// add adds an entry.
func (c *chainWriter) add(f *frame) {
	c.buf = appendContent(kept(c.buf), f)
	c.content = sha256.Sum256(c.buf)
	c.prev = c.head
	c.head = chain.Linked(&c.id, &c.prev, &c.content)
	c.entries++
	if f.kind == chain.Record {
		c.newest = f.seq
	}
}

// note adds what was added to a record, and stores the entry.
func (c *chainWriter) note(f *frame) error {
	c.add(f)
	c.insert.number(0, c.entries)
	c.insert.number(1, c.newest)
	c.insert.number(2, f.seq)
	c.insert.number(3, int64(f.kind))
	return c.insert.run()
}

// finish stores the chain's end.
func (c *chainWriter) finish() error {
	c.advance.number(0, c.newest)
	c.advance.number(1, c.entries)
	return c.advance.run()
}

// latest returns the chain's end.
func (c *chainWriter) latest(now time.Time) *chain.Head {
	return &chain.Head{Chain: hex.EncodeToString(c.id[:]), Seq: c.newest, Entries: c.entries, Hash: hex.EncodeToString(c.head[:]), Time: now.UTC()}
}

// appendContent appends what the content of an entry is the hash of.
func appendContent(b []byte, f *frame) []byte {
	switch f.kind {
	case chain.Record:
		return chain.AppendRecord(b, f.seq, f.time, f.uid, f.latency, &f.texts, f.json)
	case chain.Answer:
		return chain.AppendAdded(b, f.kind, f.seq, f.time, f.texts[:answerTexts], f.json)
	}
	return chain.AppendAdded[[]byte](b, f.kind, f.seq, f.time, nil, f.json)
}
