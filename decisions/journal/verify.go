package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/permd/permd/decisions/journal/body"
	"github.com/permd/permd/decisions/journal/names"
	"github.com/permd/permd/decisions/journal/verify"
	"github.com/permd/permd/decisions/journal/windows"
)

// Verify compares the journal with its chain of hashes, and what lists find decisions by with the
// decisions, see package verify and verifyNames. It reads one state of the database, while others
// write. The error says that it cannot be read.
func (r *Reader) Verify(ctx context.Context, o verify.Options) (result *verify.Result, _ error) {
	o.Outcome = func(record []byte) string { return column(string(body.Outcome(record))) }
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
		spans, err := windows.Numbers(ctx, conn, selectNamed)
		if err != nil {
			return err
		}
		o.Names = map[int64]*names.Sum{}
		for _, span := range spans {
			o.Names[span] = nil
		}
		if result, err = verify.Database(ctx, conn, o); err != nil {
			return err
		}
		result.Waiting = len(c.records)
		return verifyNames(ctx, conn, spans, o.Names, last, result)
	})
	if err != nil {
		return nil, fmt.Errorf("verifying the journal: %w", err)
	}
	return result, nil
}

const (
	selectNamed    = `SELECT span FROM names ORDER BY span`
	selectAllNames = `SELECT decided, counts, projects, programs, hosts, paths FROM names WHERE span = ?`
)

// verifyNames compares the index of names with what was made of the decisions up to the last one.
// Where one of these has a fault, their names are not compared.
func verifyNames(ctx context.Context, conn *sql.Conn, spans []int64, made map[int64]*names.Sum, last int64, result *verify.Result) error {
	faulty := map[int64]bool{}
	for i := range result.Faults {
		faulty[result.Faults[i].Seq>>body.SpanBits] = true
	}
	for _, span := range spans {
		of := spanBounds(span)
		var have names.Row
		err := conn.QueryRowContext(ctx, selectAllNames, span).Scan(&have.Decided, &have.Counts,
			&have.Names[names.Projects], &have.Names[names.Programs], &have.Names[names.Hosts], &have.Names[names.Paths])
		if err != nil {
			return err
		}
		want, read := made[span]
		switch {
		case !read: // there is no chain
		case want == nil || of.high > last:
			result.Add(verify.Fault{Seq: of.low, Kind: verify.Forged, Text: fmt.Sprintf("lists have names of decisions %d to %d, which are not there", of.low, of.high)})
		case have.Decided == nil || faulty[span]: // records are read, or one cannot be
		case have.Sum() != *want:
			result.Add(verify.Fault{Seq: of.low, Kind: verify.Changed, Text: fmt.Sprintf("lists have decisions %d to %d below other names, or count them as others", of.low, of.high)})
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
