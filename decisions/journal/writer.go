package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// insert stores one record; insertColumns is the number of its values.
const (
	insert = `INSERT INTO decisions
		(seq, format, id, time, uid, session, agent, tool, verdict, decided_by, latency, record)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertColumns = 12
)

// writer stores batches. It works on the driver's own statements: on the way
// of every request, database/sql's conversions would cost as much as the
// insert itself. Contexts are never cancelable, which would cost a goroutine
// for each statement. One caller uses it at a time.
type writer struct {
	db    *sql.DB
	conn  *sql.Conn
	next  int64 // sequence number of the next record
	stale bool  // next must be read again, since a commit failed
	// inPlace says whether what is written can be found again.
	inPlace func() error

	insert, answer, begin, commitTx, rollback driver.Stmt
}

func (w *writer) prepare(db *sql.DB, inPlace func() error) error {
	w.db, w.inPlace = db, inPlace
	conn, err := db.Conn(context.Background())
	if err != nil {
		return fmt.Errorf("taking the writing connection: %w", err)
	}
	w.conn = conn
	last, err := newest(conn)
	if err != nil {
		return errors.Join(fmt.Errorf("reading the newest sequence number: %w", err), conn.Close())
	}
	w.next, w.stale = last+1, false
	err = conn.Raw(func(raw any) error {
		for _, s := range []struct {
			stmt  *driver.Stmt
			query string
		}{
			{&w.insert, insert},
			{&w.answer, setAnswer},
			{&w.begin, "BEGIN IMMEDIATE"},
			{&w.commitTx, "COMMIT"},
			{&w.rollback, "ROLLBACK"},
		} {
			stmt, err := raw.(driver.Conn).Prepare(s.query)
			if err != nil {
				return fmt.Errorf("preparing %q: %w", s.query, err)
			}
			*s.stmt = stmt
		}
		return nil
	})
	if err != nil {
		return errors.Join(err, w.finish())
	}
	return nil
}

// commit stores a batch, all of it or nothing, and sets the requests' first
// sequence numbers.
func (w *writer) commit(batch []*request) error {
	if err := w.inPlace(); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	if w.stale {
		if err := w.refresh(); err != nil {
			return err
		}
	}
	next := w.next
	w.stale = true // until it has gone well
	err := w.conn.Raw(func(any) error {
		if len(batch) == 1 && len(batch[0].rows) == 1 {
			// One statement is its own transaction.
			return w.store(batch[0], &next)
		}
		if err := run(w.begin, nil); err != nil {
			return err
		}
		for _, req := range batch {
			if err := w.store(req, &next); err != nil {
				return err
			}
		}
		return run(w.commitTx, nil)
	})
	if err != nil {
		_ = w.conn.Raw(func(any) error {
			// Fails where SQLite has rolled back by itself.
			_ = run(w.rollback, nil)
			return nil
		})
		return fmt.Errorf("writing: %w", err)
	}
	w.next, w.stale = next, false
	return nil
}

// refresh goes on after an error: the failed commit may have happened after
// all, and the connection itself may be of no more use.
func (w *writer) refresh() error {
	if last, err := newest(w.conn); err == nil {
		w.next, w.stale = last+1, false
		return nil
	}
	_ = w.finish() // what it says has been said
	return w.prepare(w.db, w.inPlace)
}

func (w *writer) store(req *request, next *int64) error {
	req.first = *next
	if req.answer != nil {
		return run(w.answer, req.answer[:])
	}
	for i := range req.rows {
		req.rows[i][0].Value = *next
		if err := run(w.insert, req.rows[i][:]); err != nil {
			return err
		}
		*next++
	}
	return nil
}

func run(stmt driver.Stmt, args []driver.NamedValue) error {
	_, err := stmt.(driver.StmtExecContext).ExecContext(context.Background(), args)
	return err
}

// finish gives the connection back.
func (w *writer) finish() error {
	err := w.conn.Raw(func(any) error {
		var errs []error
		for _, stmt := range []driver.Stmt{w.insert, w.answer, w.begin, w.commitTx, w.rollback} {
			if stmt != nil {
				errs = append(errs, stmt.Close())
			}
		}
		return errors.Join(errs...)
	})
	return errors.Join(err, w.conn.Close())
}
