// Package verify compares the journal with its chain of hashes, and what lists find decisions by
// with the decisions.
package verify

import (
	"context"
	"database/sql"
	"time"

	"github.com/permd/permd/decisions/journal/chain"
	"github.com/permd/permd/decisions/journal/names"
)

// FaultKind is what is wrong with an entry of the chain.
type FaultKind string

// The kinds of faults.
const (
	Changed   FaultKind = "changed"   // it is not what was stored
	Missing   FaultKind = "missing"   // entries are gone
	Reordered FaultKind = "reordered" // it stands in the place of another one
	Forged    FaultKind = "forged"    // it is not of this chain, or what it continues is not
	CutOff    FaultKind = "cut off"   // the chain does not reach a head that it had
)

// Fault is something wrong with the journal.
type Fault struct {
	// Seq is the number of the decision, ID its id and Time its time, empty and zero where
	// there is none any more.
	Seq  int64     `json:"seq"`
	ID   string    `json:"id,omitzero"`
	Time time.Time `json:"time,omitzero"`
	Kind FaultKind `json:"kind"`
	Text string    `json:"text"` // what was found
}

// maxFaults bounds the faults that are told one by one.
const maxFaults = 1000

// maxSuspects bounds the entries that are compared with each other.
const maxSuspects = 200

// Result is what was found.
type Result struct {
	// Decisions is the number of decisions whose hashes are right, and Added that of
	// answers and reports.
	Decisions int64 `json:"decisions"`
	Added     int64 `json:"added"`
	// Since is the time of the oldest of these decisions.
	Since time.Time `json:"since,omitzero"`
	// Unchained decisions were stored before the chain began, so nothing is known of them.
	Unchained int64 `json:"unchained"`
	// Waiting is the number of decisions in the spool, which come after the head.
	Waiting int        `json:"waiting"`
	Head    chain.Head `json:"head"`
	Heads   Heads      `json:"heads"`
	// Faults are in the order in which they were found; More is the number of further
	// ones.
	Faults []Fault `json:"faults"`
	More   int64   `json:"moreFaults,omitzero"`
}

// Add adds a fault, or counts it if there are too many.
func (r *Result) Add(f Fault) {
	if len(r.Faults) >= maxFaults {
		r.More++
		return
	}
	r.Faults = append(r.Faults, f)
}

// Heads counts the heads that the chain was compared with.
type Heads struct {
	Found   int `json:"found"`   // are in the chain
	Removed int `json:"removed"` // belong to decisions that retention removed
	Other   int `json:"other"`   // are of another chain
}

// Options say what to compare with.
type Options struct {
	// Outcome returns what became of the call of a record, as lists have it.
	Outcome func(record []byte) string
	// Names has the spans whose rows of names are to be made of their records. Database sets the sums
	// of those that have some, and removes all if there is no chain.
	Names map[int64]*names.Sum
	// Known are heads that the chain is known to have had.
	Known []chain.Head
	// Hash is the hash of such a head, after its number and a colon if that is known; "" for
	// none. A head with a number that retention has removed is no fault.
	Hash string
	// Progress, if set, is called now and then with how many decisions were read, of about
	// how many.
	Progress func(done, total int64)
}

// Database verifies that lists find each decision as what it is, and the chain of hashes: each
// entry has the hash of what it holds and of the entry before it, and the chain has the heads that
// are known. The connection is in a transaction. The error says that it cannot be read.
func Database(ctx context.Context, conn *sql.Conn, o Options) (*Result, error) {
	v := &verifier{o: o, known: map[chain.Hash]*chain.Head{}, added: map[addedKey]chain.Hash{}, spans: map[int64]*[2]int64{}}
	if err := v.verify(ctx, conn); err != nil {
		return nil, err
	}
	return &v.result, nil
}
