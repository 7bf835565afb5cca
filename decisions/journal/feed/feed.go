// Package feed reads the journal in the order of its chain of hashes: decisions, and what was
// added to them later (a person's answer, a report that the call has run or ended), each once.
// Who sends the journal elsewhere keeps a Position and goes on from there.
//
// It reads what is in the database. What is in the spool comes there within a second.
package feed

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/chain"
)

// limit bounds the decisions and the additions of one Page.
const limit = 256

// Position is a place in the journal: what is before it was read. The zero Position is the
// beginning.
type Position struct {
	// Chain is the id of the journal's chain in hexadecimal, as [chain.Head] has it.
	Chain string `json:"chain"`
	// Seq is the number of the newest decision before the position, and ID its id.
	Seq int64  `json:"seq"`
	ID  string `json:"id"`
	// Entry is the number in the chain of the newest addition before the position.
	Entry int64 `json:"entry"`
	// Base is up to where decisions were gone when the journal was first read.
	Base int64 `json:"base"`
}

// Added is what was added to a decision since it was made, "" for the decision itself.
type Added string

// What is added.
const (
	Answer Added = "answer"
	Ran    Added = "ran"
	Ended  Added = "ended"
)

var addedBy = map[int64]Added{chain.Answer: Answer, chain.Ran: Ran, chain.Ended: Ended}

// Entry is a decision as it is now.
type Entry struct {
	Record *decisions.Record
	Added  Added
	After  Position // the position to read on from after the entry
}

// Lost are decisions that were removed before they were read.
type Lost struct {
	From, To int64 // their numbers are from From to To; some of these may be there
	Count    int64
}

// Page is what follows a position.
type Page struct {
	// Entries are in journal order. What was added to a decision of the same page is part of
	// that decision, not an entry.
	Entries []Entry
	// Next is the position after the page, to read on from. At the end of the journal it is the
	// position that Read was called with.
	Next Position
	// Start is the position at which the page begins. It differs from that of the call if the
	// journal was replaced.
	Start Position
	// Lost are decisions that retention has removed since the journal was first read, nil if
	// none.
	Lost *Lost
	// Replaced is set if the position is of another journal than this one, whose entries begin
	// with the first.
	Replaced bool
}

// note is an addition.
type note struct {
	n, after, seq int64
	kind          int64
}

// state is what the database says.
type state struct {
	chain       string
	newest, cut int64 // decisions
	notes       []note
}

// Read returns the page that follows a position.
func Read(ctx context.Context, r *journal.Reader, from Position) (Page, error) {
	var p Page
	st, same, err := inspect(ctx, r, from)
	if err != nil {
		return p, fmt.Errorf("reading the journal: %w", err)
	}
	if !same {
		p.Replaced, from = true, Position{}
		if st, _, err = inspect(ctx, r, from); err != nil {
			return p, fmt.Errorf("reading the journal: %w", err)
		}
	}
	if from.Chain == "" {
		from.Chain, from.Base = st.chain, st.cut
	}
	p.Start = from
	// What the database did not have yet is left for the next page: what was added before it
	// is not known.
	recs, err := r.Page(ctx, decisions.RecordFilter{After: from.Seq, Before: st.newest + 1, Oldest: true, Limit: limit})
	if err != nil {
		return p, err
	}
	list := recs.Records
	for len(list) > 0 && list[len(list)-1].Seq > st.newest {
		list = list[:len(list)-1]
	}
	whole := recs.Next == 0
	if err := p.merge(ctx, r, from, list, whole, st.notes); err != nil {
		return p, err
	}
	return p, p.findLost(ctx, r, from)
}

// inspect reads what the database says of what follows a position, and whether it is of this
// journal.
func inspect(ctx context.Context, r *journal.Reader, from Position) (st state, same bool, err error) {
	err = r.View(ctx, func(tx *sql.Tx) (err error) {
		var id []byte
		if err := tx.QueryRowContext(ctx, "SELECT id, newest, cut FROM chain, retained").Scan(&id, &st.newest, &st.cut); err != nil {
			return err
		}
		st.chain = hex.EncodeToString(id)
		if same = from.Chain == "" || from.Chain == st.chain && from.Seq <= st.newest; !same {
			return nil
		}
		if from.Seq > 0 {
			// A copy of an earlier journal that was put back goes on with the same numbers.
			var text string
			switch err := tx.QueryRowContext(ctx, "SELECT id FROM decisions WHERE seq = ?", from.Seq).Scan(&text); {
			case errors.Is(err, sql.ErrNoRows): // removed
			case err != nil:
				return err
			case text != from.ID:
				same = false
				return nil
			}
		}
		rows, err := tx.QueryContext(ctx, "SELECT n, after, seq, kind FROM notes WHERE n > ? ORDER BY n LIMIT ?", from.Entry, limit)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var n note
			if err := rows.Scan(&n.n, &n.after, &n.seq, &n.kind); err != nil {
				return err
			}
			st.notes = append(st.notes, n)
		}
		return rows.Err()
	})
	return st, same, err
}

// merge puts decisions and additions in the order of the chain. Whole says that no decision
// follows the list.
func (p *Page) merge(ctx context.Context, r *journal.Reader, from Position, list []*decisions.Record, whole bool, notes []note) error {
	high := int64(math.MaxInt64) // the decisions up to this one are in the list
	if !whole {
		high = from.Seq
		if len(list) > 0 {
			high = list[len(list)-1].Seq
		}
	}
	if len(notes) == limit { // what follows them may come before later decisions
		last := notes[len(notes)-1].after
		list = slices.DeleteFunc(list, func(r *decisions.Record) bool { return r.Seq > last })
	}
	latest := map[int64]int64{} // addition to each decision
	for i := range notes {
		latest[notes[i].seq] = notes[i].n
	}
	at := from
	for len(list) > 0 || len(notes) > 0 && notes[0].after <= high {
		if len(list) > 0 && (len(notes) == 0 || notes[0].after >= list[0].Seq) {
			at.Seq, at.ID = list[0].Seq, list[0].Decision.ID
			p.Entries = append(p.Entries, Entry{list[0], "", at})
			list = list[1:]
			continue
		}
		n := notes[0]
		notes = notes[1:]
		at.Entry = n.n
		if n.seq > from.Seq || latest[n.seq] != n.n {
			continue // it is in the decision's own entry, or in a later one
		}
		found, err := r.Page(ctx, decisions.RecordFilter{After: n.seq - 1, Before: n.seq + 1, Oldest: true, Limit: 1})
		if err != nil {
			return err
		}
		if len(found.Records) == 1 {
			p.Entries = append(p.Entries, Entry{found.Records[0], addedBy[n.kind], at})
		}
	}
	p.Next = at
	return nil
}

// findLost finds what retention has removed between a position and the end of the page, and
// moves Next past it.
func (p *Page) findLost(ctx context.Context, r *journal.Reader, from Position) error {
	var cut int64
	err := r.View(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT cut FROM retained").Scan(&cut)
	})
	if err != nil {
		return fmt.Errorf("reading what was removed from the journal: %w", err)
	}
	first, there := max(from.Seq, from.Base), int64(0)
	for i := range p.Entries {
		if e := &p.Entries[i]; e.Added == "" && e.Record.Seq > first && e.Record.Seq <= cut {
			there++
		}
	}
	to := min(cut, p.Next.Seq)
	if p.Next == from && cut > from.Seq {
		to = cut
	}
	if n := to - first - there; n > 0 {
		p.Lost = &Lost{From: first + 1, To: to, Count: n}
		if to > p.Next.Seq {
			p.Next.Seq, p.Next.ID = to, ""
		}
	}
	return nil
}

// Waiting returns how many decisions follow a position, about, and when the first of them was
// made.
func Waiting(ctx context.Context, r *journal.Reader, from Position) (n int64, since time.Time, err error) {
	p, err := r.Page(ctx, decisions.RecordFilter{After: from.Seq, Oldest: true, Limit: 1})
	if err != nil || len(p.Records) == 0 {
		return 0, time.Time{}, err
	}
	return 1 + p.Left, p.Records[0].Time, nil
}
