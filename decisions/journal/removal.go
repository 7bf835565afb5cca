package journal

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/permd/permd/decisions/journal/body"
)

// removal is one transaction that removes decisions. After an error it does
// nothing more.
type removal struct {
	ctx      context.Context //nolint:containedctx // it lives as long as one call
	c        *sql.Conn
	from, to int64 // decisions after from, up to to
	// cut is the number up to which decisions are gone afterwards, cutAt the time
	// of that decision.
	cut, cutAt int64
	// kindsAfter and kindsTo bound the newest decisions of kinds that may have none
	// left.
	kindsAfter, kindsTo int64
	bodies              []any // numbers of those that the decisions have used
	chain               keptChain
	names               bool // are removed
	namesErr            error
	removed, kinds      int64
	err                 error
}

func (t *removal) exec(text string, args ...any) (changed int64) {
	if t.err != nil {
		return 0
	}
	result, err := t.c.ExecContext(t.ctx, text, args...)
	if err == nil {
		changed, err = result.RowsAffected()
	}
	t.err = err
	return changed
}

// The statements that remove decisions between two numbers, and what only they
// needed. There is an outcome in the key of kinds that a decision's row lacks.
const (
	removeListed = `DELETE FROM listed WHERE (kind, seq) IN (
		SELECT k.kind, d.seq FROM decisions d CROSS JOIN kinds k
		ON k.session = d.session AND k.tool = d.tool AND k.agent = d.agent AND k.uid = d.uid
		AND k.verdict = d.verdict AND k.decided_by = d.decided_by
		WHERE d.seq BETWEEN ? AND ?)`
	removeDecisions = `DELETE FROM decisions WHERE seq BETWEEN ? AND ?`
	// The decision that a body came with is among those that are removed now or
	// were before.
	removeBodies = `DELETE FROM bodies WHERE first IN (?%s)
		AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.shared = bodies.first AND d.shared < d.seq)`
	removeKinds = `DELETE FROM kinds WHERE newest > ? AND newest <= ?
		AND NOT EXISTS (SELECT 1 FROM listed WHERE listed.kind = kinds.kind)`
	removeSpans = `DELETE FROM spans WHERE span BETWEEN ? AND ? AND NOT EXISTS (
		SELECT 1 FROM decisions d WHERE d.seq BETWEEN span * 1024 AND span * 1024 + 1023)`
	selectRow = `SELECT ` + rowColumns + rowTables + bySeq
	setWhole  = `UPDATE decisions SET format = ?, record = ?, shared = NULL WHERE seq = ?`
)

func (t *removal) removeRows(low, high int64) {
	if low > high {
		return
	}
	t.exec(removeListed, low, high)
	t.exec(removeDecisions, low, high)
}

func (t *removal) removeRest() {
	if n := len(t.bodies); n > 0 {
		t.exec(fmt.Sprintf(removeBodies, strings.Repeat(", ?", n-1)), t.bodies...)
	}
	t.kinds = t.exec(removeKinds, t.kindsAfter, t.kindsTo)
	if t.names && t.err == nil {
		t.exec(removeNames, (t.from+1)>>body.SpanBits, t.to>>body.SpanBits)
		t.namesErr = t.err
	}
	t.exec(removeSpans, t.from>>body.SpanBits, (t.cut+1)>>body.SpanBits-1)
}

// makeWhole stores a record that is kept without a body, which is removed with
// the decisions around it.
func (t *removal) makeWhole(seq int64) {
	if t.err != nil {
		return
	}
	var r row
	if t.err = r.scan(t.c.QueryRowContext(t.ctx, selectRow, seq).Scan); t.err != nil {
		return
	}
	whole, err := r.json()
	if t.err = err; err == nil {
		t.exec(setWhole, body.FormatWhole, whole, seq)
	}
}
