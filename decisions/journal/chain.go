package journal

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// The chain of hashes makes changes of the journal visible. Its entries are the
// records and what is added to them later (a person's answer, a report that the call has
// run or ended), in the order in which they get into the database. Each continues the
// one before:
//
//	hash = SHA-256(the chain's id, hash of the entry before, content)
//
// The content is the SHA-256 of
//
//	kind (1 byte, as in the spool), sequence number, time
//	of a record: uid, latency, its six texts, its JSON
//	of an answer: its verdict, its JSON
//	of an ending: its word
//
// with numbers of 8 bytes in big-endian order and a length of 4 bytes before each text
// but the last part. The JSON is the bytes that were appended: how split.go or retention
// store them changes nothing. The first entry continues
// SHA-256("permd journal chain 1\n", the chain's id, the number of its start).
//
// What was stored before the chain began has no hash. What is in the spool has none yet
// either: the mover makes it in the transaction that stores the entry, so requests do not
// wait for it. That loses nothing, since the spool's order determines the hashes: after a
// crash they are the same.
//
// There is no key. Who can write the database can make a chain of his own, so the chain
// proves something only to who knows a head of it that is kept elsewhere: Options.Head
// gets it, and the daemon sends it to the system's journal. What is before such a head
// cannot be changed unnoticed; what is after it can.
//
// Retention removes entries from the oldest on. The hash of the newest of them is in
// retained, and what follows continues it. Of entries that are kept among those that were
// removed, each proves itself by its own two hashes, and all of them by their number and
// the sum of their hashes. What was added to a removed record stays, as hashes alone,
// until the entries around it are removed.

// chainHash is the hash of an entry or of its content.
type chainHash = [sha256.Size]byte

// chainID tells chains apart.
type chainID [16]byte

// chainMark begins what the first entry continues.
const chainMark = "permd journal chain 1\n"

// Head is the newest entry of the chain, and says which records are before it.
type Head struct {
	Chain   string    `json:"chain"`         // which chain it is, in hexadecimal
	Seq     int64     `json:"seq"`           // of the newest record among the entries
	Entries int64     `json:"entries"`       // in all, with those that were removed
	Hash    string    `json:"hash"`          // in hexadecimal
	Time    time.Time `json:"time,omitzero"` // when it was the newest entry; zero if that is not known
}

// Bounds of how far the chain is ahead of the newest head that Options.Head got.
const (
	headEntries = 1000
	headEvery   = time.Minute
)

// chain is the chain as it is written. What add sets has fixed addresses: statements
// have them as arguments.
type chain struct {
	id              chainID
	start, newest   int64
	entries         int64
	head, prev      chainHash // of the newest entry, and of the one before
	content         chainHash // of the newest entry
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
func (c *chain) load(ctx context.Context, conn *sql.Conn) error {
	for range 2 {
		var id, head []byte
		err := conn.QueryRowContext(ctx, selectChain).Scan(&id, &c.start, &c.newest, &c.entries, &head)
		if err == nil && len(id) == len(c.id) && (head == nil || len(head) == len(c.head)) {
			copy(c.id[:], id)
			if c.head = genesis(c.id, c.start); head != nil {
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
func (c *chain) statements() []preparation {
	return []preparation{{&c.insert, insertNote, 7}, {&c.advance, advanceChain, 3}}
}

// bind makes the hashes arguments of the statements.
func (c *chain) bind(row *statement) {
	row.bytes(rowPrevHash, c.prev[:])
	row.bytes(rowHash, c.head[:])
	c.insert.bytes(4, c.content[:])
	c.insert.bytes(5, c.prev[:])
	c.insert.bytes(6, c.head[:])
	c.advance.bytes(2, c.head[:])
}

// add adds an entry.
func (c *chain) add(f *frame) {
	c.buf = appendContent(kept(c.buf), f)
	c.content = sha256.Sum256(c.buf)
	c.prev = c.head
	c.head = linked(&c.id, &c.prev, &c.content)
	c.entries++
	if f.kind == kindRecord {
		c.newest = f.seq
	}
}

// note adds what was added to a record, and stores the entry.
func (c *chain) note(f *frame) error {
	c.add(f)
	c.insert.number(0, c.entries)
	c.insert.number(1, c.newest)
	c.insert.number(2, f.seq)
	c.insert.number(3, int64(f.kind))
	return c.insert.run()
}

// finish stores the chain's end.
func (c *chain) finish() error {
	c.advance.number(0, c.newest)
	c.advance.number(1, c.entries)
	return c.advance.run()
}

// latest returns the chain's end.
func (c *chain) latest(now time.Time) *Head {
	return &Head{Chain: hex.EncodeToString(c.id[:]), Seq: c.newest, Entries: c.entries, Hash: hex.EncodeToString(c.head[:]), Time: now.UTC()}
}

// genesis is what the first entry continues.
func genesis(id chainID, start int64) chainHash {
	b := append([]byte(chainMark), id[:]...)
	return sha256.Sum256(binary.BigEndian.AppendUint64(b, uint64(start)))
}

// linked is the hash of an entry.
func linked(id *chainID, prev, content *chainHash) chainHash {
	var all [len(id) + 2*sha256.Size]byte
	copy(all[:], id[:])
	copy(all[len(id):], prev[:])
	copy(all[len(id)+sha256.Size:], content[:])
	return sha256.Sum256(all[:])
}

// appendContent appends what the content of an entry is the hash of.
func appendContent(b []byte, f *frame) []byte {
	switch f.kind {
	case kindRecord:
		return appendRecordContent(b, f.seq, f.time, f.uid, f.latency, &f.texts, f.json)
	case kindAnswer:
		return appendAdded(b, f.kind, f.seq, f.time, f.texts[:answerTexts], f.json)
	}
	return appendAdded[[]byte](b, f.kind, f.seq, f.time, nil, f.json)
}

// appendRecordContent is appendContent for a record.
func appendRecordContent[T string | []byte](b []byte, seq, at int64, uid uint32, latency int64, texts *[recordTexts]T, json []byte) []byte {
	b = appendPlace(b, kindRecord, seq, at)
	b = binary.BigEndian.AppendUint64(b, uint64(uid))
	b = binary.BigEndian.AppendUint64(b, uint64(latency))
	return append(appendTexts(b, texts[:]), json...)
}

// appendAdded is appendContent for what was added to a record.
func appendAdded[T string | []byte](b []byte, kind byte, seq, at int64, texts []T, rest []byte) []byte {
	return append(appendTexts(appendPlace(b, kind, seq, at), texts), rest...)
}

func appendPlace(b []byte, kind byte, seq, at int64) []byte {
	b = binary.BigEndian.AppendUint64(append(b, kind), uint64(seq))
	return binary.BigEndian.AppendUint64(b, uint64(at))
}

func appendTexts[T string | []byte](b []byte, texts []T) []byte {
	for _, text := range texts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
		b = append(b, text...)
	}
	return b
}

// chainSum is a sum of hashes modulo 2^256, least significant part first.
type chainSum [4]uint64

// sumOf reads a sum that is stored as 32 bytes in big-endian order.
func sumOf(b []byte) (s chainSum, ok bool) {
	if len(b) != sha256.Size {
		return s, b == nil
	}
	for i := range s {
		s[i] = binary.BigEndian.Uint64(b[8*(len(s)-1-i):])
	}
	return s, true
}

func (s *chainSum) add(hash []byte) {
	other, _ := sumOf(hash)
	var carry uint64
	for i := range s {
		s[i], carry = bits.Add64(s[i], other[i], carry)
	}
}

func (s *chainSum) subtract(hash []byte) {
	other, _ := sumOf(hash)
	var borrow uint64
	for i := range s {
		s[i], borrow = bits.Sub64(s[i], other[i], borrow)
	}
}

func (s *chainSum) bytes() []byte {
	b := make([]byte, 0, sha256.Size)
	for i := range s {
		b = binary.BigEndian.AppendUint64(b, s[len(s)-1-i])
	}
	return b
}
