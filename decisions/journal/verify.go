package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/permd/permd/decisions/journal/verify"
)

// Verify compares the journal with its chain of hashes, and what lists find decisions by with the
// decisions, see package verify. It reads one state of the database, while others write. The error
// says that it cannot be read.
func (r *Reader) Verify(ctx context.Context, o verify.Options) (result *verify.Result, _ error) {
	o.Outcome = outcomeOf
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
		if result, err = verify.Database(ctx, conn, o); err == nil {
			result.Waiting = len(c.records)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("verifying the journal: %w", err)
	}
	return result, nil
}
