// Package chain makes the hashes of the journal's entries.
//
// The chain of hashes makes changes of the journal visible. Its entries are the
// records and what is added to them later (a person's answer, a report that the call has
// run or ended), in the order in which they get into the database. Each continues the
// one before:
//
//	hash = SHA-256(the chain's id, hash of the entry before, content)
//
// The content is the SHA-256 of
//
//	kind (1 byte, [Record] and its like), sequence number, time
//	of a record: uid, latency, its six texts, its JSON
//	of an answer: its verdict, its JSON
//	of an ending: its word
//
// with numbers of 8 bytes in big-endian order and a length of 4 bytes before each text
// but the last part. The JSON is the bytes that were appended: how shared bodies or retention
// store them changes nothing. The first entry continues
// SHA-256("permd journal chain 1\n", the chain's id, the number of its start).
//
// What was stored before the chain began has no hash. What is in the spool has none yet
// either: the mover makes it in the transaction that stores the entry, so requests do not
// wait for it. That loses nothing, since the spool's order determines the hashes: after a
// crash they are the same.
//
// There is no key. Who can write the database can make a chain of his own, so the chain
// proves something only to who knows a head of it that is kept elsewhere: the journal's Options.Head
// gets it, and the daemon sends it to the system's journal. What is before such a head
// cannot be changed unnoticed; what is after it can.
//
// Retention removes entries from the oldest on. The hash of the newest of them is in
// retained, and what follows continues it. Of entries that are kept among those that were
// removed, each proves itself by its own two hashes, and all of them by their number and
// the sum of their hashes. What was added to a removed record stays, as hashes alone,
// until the entries around it are removed.
package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"time"
)

// Hash is the hash of an entry or of its content.
type Hash = [sha256.Size]byte

// ID tells chains apart.
type ID [16]byte

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

// The kinds of entries, as they are stored.
const (
	Record = 1
	Answer = 2 // of a person
	Ran    = 3 // the report that a call has run
	Ended  = 4 // the report how it ended
)

// RecordTexts is the number of a record's texts.
const RecordTexts = 6

// Genesis is what the first entry continues.
func Genesis(id ID, start int64) Hash {
	b := append([]byte(chainMark), id[:]...)
	return sha256.Sum256(binary.BigEndian.AppendUint64(b, uint64(start)))
}

// Linked is the hash of an entry.
func Linked(id *ID, prev, content *Hash) Hash {
	var all [len(id) + 2*sha256.Size]byte
	copy(all[:], id[:])
	copy(all[len(id):], prev[:])
	copy(all[len(id)+sha256.Size:], content[:])
	return sha256.Sum256(all[:])
}

// AppendRecord appends what the content of a record is the hash of. The texts are its id,
// session, agent, tool, verdict and decider.
func AppendRecord[T string | []byte](b []byte, seq, at int64, uid uint32, latency int64, texts *[RecordTexts]T, json []byte) []byte {
	b = appendPlace(b, Record, seq, at)
	b = binary.BigEndian.AppendUint64(b, uint64(uid))
	b = binary.BigEndian.AppendUint64(b, uint64(latency))
	return append(appendTexts(b, texts[:]), json...)
}

// AppendAdded is the same for what was added to a record.
func AppendAdded[T string | []byte](b []byte, kind byte, seq, at int64, texts []T, rest []byte) []byte {
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

// Sum is a sum of hashes modulo 2^256, least significant part first.
type Sum [4]uint64

// SumOf reads a sum that is stored as 32 bytes in big-endian order.
func SumOf(b []byte) (s Sum, ok bool) {
	if len(b) != sha256.Size {
		return s, b == nil
	}
	for i := range s {
		s[i] = binary.BigEndian.Uint64(b[8*(len(s)-1-i):])
	}
	return s, true
}

// Add adds a hash.
func (s *Sum) Add(hash []byte) {
	other, _ := SumOf(hash)
	var carry uint64
	for i := range s {
		s[i], carry = bits.Add64(s[i], other[i], carry)
	}
}

// Subtract subtracts a hash.
func (s *Sum) Subtract(hash []byte) {
	other, _ := SumOf(hash)
	var borrow uint64
	for i := range s {
		s[i], borrow = bits.Sub64(s[i], other[i], borrow)
	}
}

// Bytes is what SumOf reads.
func (s *Sum) Bytes() []byte {
	b := make([]byte, 0, sha256.Size)
	for i := range s {
		b = binary.BigEndian.AppendUint64(b, s[len(s)-1-i])
	}
	return b
}
