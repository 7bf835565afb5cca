package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	_ "github.com/mattn/go-sqlite3" // the receiver's database
)

// expected is how many decisions all machines have made.
func (f *fleet) expected() (n int) {
	for _, m := range f.journalling() {
		n += m.log.decided
	}
	return n
}

// awaitLogs waits until the receiver has the decisions of all machines, and returns how long after
// a time that was. It is an error if some are missing, or came in another order.
func (f *fleet) awaitLogs(ctx context.Context, from time.Time) (took time.Duration, err error) {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(f.dir, "audit.db")+"?mode=ro&_busy_timeout=5000")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	const machines = `path = 'permd/decide' AND event ->> '$.labels.machine' < ?` // those of daemons are others
	last := fmt.Sprintf("m%05d", f.o.machines)
	deadline := time.Now().Add(f.limit())
	for n := 0; ; {
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM events WHERE "+machines, last).Scan(&n); err != nil {
			return 0, err
		}
		if n == f.expected() {
			break
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("the receiver has %d decisions, the machines have made %d", n, f.expected())
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return 0, err
		}
	}
	var newest string
	if err := db.QueryRowContext(ctx, "SELECT max(received) FROM events WHERE "+machines, last).Scan(&newest); err != nil {
		return 0, err
	}
	at, err := time.Parse(time.RFC3339Nano, newest)
	if err != nil {
		return 0, err
	}
	return max(0, at.Sub(from)), f.checkOrder(ctx, db, machines, last)
}

// checkOrder returns an error unless each machine's decisions came one after the other: each
// follows the one that was sent before, and none was received before it.
func (f *fleet) checkOrder(ctx context.Context, db *sql.DB, where, last string) (err error) {
	rows, err := db.QueryContext(ctx, "SELECT event ->> '$.labels.machine' AS machine, seq, follows, received FROM events WHERE "+where+" ORDER BY machine, seq", last)
	if err != nil {
		return err
	}
	defer rows.Close()
	counted := map[string]int{}
	var before struct {
		machine, received string
		seq               int64
	}
	for rows.Next() {
		now := before
		var follows sql.NullInt64 // 0, as none, for the first
		if err := rows.Scan(&now.machine, &now.seq, &follows, &now.received); err != nil {
			return err
		}
		if now.machine != before.machine {
			before.seq, before.received = 0, ""
		}
		if follows.Int64 != before.seq || now.received < before.received {
			return fmt.Errorf("decision %d of %s came at %s after %d, and follows %d, which came at %s", now.seq, now.machine, now.received, follows.Int64, before.seq, before.received)
		}
		counted[now.machine]++
		before = now
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, m := range f.journalling() {
		if counted[m.name()] != m.log.decided {
			return fmt.Errorf("the receiver has %d decisions of %s, which has made %d", counted[m.name()], m.name(), m.log.decided)
		}
	}
	return nil
}
