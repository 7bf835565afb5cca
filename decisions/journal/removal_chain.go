package journal

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/permd/permd/decisions/journal/chain"
)

// keptChain is what the chain says of the entries that are kept up to the cut.
type keptChain struct {
	n    int64
	sum  chain.Sum
	last []byte // hash of the newest entry up to the new cut; nil if there is none
	// passed is the number of entries between the old cut and the new one.
	passed int64
}

// The statements that keep the chain of what is removed. An entry's place is the number
// of a record, and of what was added to one that of the newest record before.
const (
	selectKept = `SELECT kept, kept_sum FROM chain`
	setKept    = `UPDATE chain SET kept = ?, kept_sum = ?`
	// The newest entry up to a record, and how many there are after another one.
	selectCut = `SELECT coalesce((SELECT hash FROM notes WHERE after = ?1 ORDER BY n DESC LIMIT 1), (SELECT hash FROM decisions WHERE seq = ?1)),
		(SELECT count(hash) FROM decisions WHERE seq > ?2 AND seq <= ?1) + (SELECT count(*) FROM notes WHERE after > ?2 AND after <= ?1)`
	setCutHash = `UPDATE retained SET hash = ?, entries = entries + ?`
	// Entries up to the cut that a removal at places above the cut leaves there, and
	// those that one below the cut is about.
	selectPassed = `SELECT hash FROM decisions WHERE seq > ?1 AND seq <= ?2 AND hash IS NOT NULL
		UNION ALL SELECT hash FROM notes WHERE after > ?1 AND after <= ?2`
	selectSwept = `SELECT hash FROM decisions WHERE seq > ?1 AND seq <= ?2 AND hash IS NOT NULL
		UNION ALL SELECT hash FROM notes WHERE seq > ?1 AND seq <= ?2 AND after <= ?3`
	removePassed = `DELETE FROM notes WHERE after > ? AND after <= ? AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.seq = notes.seq)`
	removeSwept  = `DELETE FROM notes WHERE seq > ? AND seq <= ? AND after <= ? AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.seq = notes.seq)`
)

// beginChain reads what will be needed of the chain, before anything is removed.
func (t *removal) beginChain(cut int64) {
	if t.err != nil {
		return
	}
	var sum []byte
	if t.err = t.c.QueryRowContext(t.ctx, selectKept).Scan(&t.chain.n, &sum); errors.Is(t.err, sql.ErrNoRows) {
		t.err = nil // see load in chain.go
	}
	t.chain.sum, _ = chain.SumOf(sum)
	if t.to > cut {
		t.err = errors.Join(t.err, t.c.QueryRowContext(t.ctx, selectCut, t.to, cut).Scan(&t.chain.last, &t.chain.passed))
		return
	}
	for _, hash := range t.hashes(selectSwept, t.from, t.to, cut) {
		t.chain.n--
		t.chain.sum.Subtract(hash)
	}
}

// finishChain stores what the chain says after the removal.
func (t *removal) finishChain(cut int64) {
	var left [][]byte
	if t.to > cut {
		t.exec(removePassed, cut, t.to)
		left = t.hashes(selectPassed, cut, t.to)
		t.exec(setCutHash, t.chain.last, t.chain.passed)
	} else {
		t.exec(removeSwept, t.from, t.to, cut)
		left = t.hashes(selectSwept, t.from, t.to, cut)
	}
	for _, hash := range left {
		t.chain.n++
		t.chain.sum.Add(hash)
	}
	t.exec(setKept, t.chain.n, t.chain.sum.Bytes())
}

// hashes returns the hashes that a query selects.
func (t *removal) hashes(query string, args ...any) (list [][]byte) {
	if t.err != nil {
		return nil
	}
	rows, err := t.c.QueryContext(t.ctx, query, args...)
	if err != nil {
		t.err = fmt.Errorf("reading hashes: %w", err)
		return nil
	}
	defer func() { t.err = errors.Join(t.err, rows.Err(), rows.Close()) }()
	for rows.Next() {
		var hash []byte
		if t.err = rows.Scan(&hash); t.err != nil {
			return nil
		}
		list = append(list, hash)
	}
	return list
}
