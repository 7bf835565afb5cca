package journal

import (
	"context"
	"errors"
	"fmt"
	"time"
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

// Verification is what was found.
type Verification struct {
	// Decisions is the number of decisions whose hashes are right, and Added that of
	// answers and reports.
	Decisions int64 `json:"decisions"`
	Added     int64 `json:"added"`
	// Since is the time of the oldest of these decisions.
	Since time.Time `json:"since,omitzero"`
	// Unchained decisions were stored before the chain began, so nothing is known of them.
	Unchained int64 `json:"unchained"`
	// Waiting is the number of decisions in the spool, which come after the head.
	Waiting int   `json:"waiting"`
	Head    Head  `json:"head"`
	Heads   Heads `json:"heads"`
	// Faults are in the order in which they were found; More is the number of further
	// ones.
	Faults []Fault `json:"faults"`
	More   int64   `json:"moreFaults,omitzero"`
}

// Heads counts the heads that the chain was compared with.
type Heads struct {
	Found   int `json:"found"`   // are in the chain
	Removed int `json:"removed"` // belong to decisions that retention removed
	Other   int `json:"other"`   // are of another chain
}

// VerifyOptions say what to compare with.
type VerifyOptions struct {
	// Known are heads that the chain is known to have had.
	Known []Head
	// Hash is the hash of such a head, after its number and a colon if that is known; "" for
	// none. A head with a number that retention has removed is no fault.
	Hash string
	// Progress, if set, is called now and then with how many decisions were read, of about
	// how many.
	Progress func(done, total int64)
}

// Verify verifies that lists find each decision as what it is, and the chain of hashes: each entry has the hash of what it holds and of the
// entry before it, and the chain has the heads that are known. It reads one state of the
// database, while others write. The error says that it cannot be read.
func (r *Reader) Verify(ctx context.Context, o VerifyOptions) (*Verification, error) {
	v := &verifier{o: o, known: map[chainHash]*Head{}, added: map[addedKey]chainHash{}, spans: map[int64][2]int64{}}
	err := r.withSpool(func(c spooledRecords, _ bool) (err error) {
		// The spool was read first: what has left it since then is in the database.
		conn, err := r.db.Read.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, conn.Close()) }()
		if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
			return err
		}
		defer func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }() // read-only
		last, err := newest(ctx, conn)
		if err != nil {
			return err
		}
		c.after(last)
		v.result.Waiting = len(c.records)
		return v.verify(ctx, conn)
	})
	if err != nil {
		return nil, fmt.Errorf("verifying the journal: %w", err)
	}
	return &v.result, nil
}
