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

// writer stores frames in the database. It uses the driver's statements
// directly: database/sql's conversions would cost as much as the insert itself.
// Contexts are never cancellable, which would cost a goroutine for each
// statement. Only one goroutine uses it at a time.
type writer struct {
	db    *sql.DB
	conn  *sql.Conn
	last  int64 // the newest sequence number in the database
	stale bool  // last must be read again after a failed commit
	// inPlace checks that the database's files are still in place.
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
	if w.last, err = newest(context.Background(), conn); err != nil {
		return errors.Join(fmt.Errorf("reading the newest sequence number: %w", err), conn.Close())
	}
	w.stale = false
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

// store stores all frames in one transaction, or none of them. Records that are
// in the database already are skipped: the process may have ended between a
// commit and the emptying of the spool.
func (w *writer) store(all []byte) error {
	if err := w.inPlace(); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	if w.stale {
		if err := w.refresh(); err != nil {
			return err
		}
	}
	last := w.last
	w.stale = true // until it succeeds
	err := w.conn.Raw(func(any) error {
		if err := run(w.begin, nil); err != nil {
			return err
		}
		for f, err := range frames(all) {
			if err != nil {
				return err
			}
			if f.kind == kindRecord && f.seq <= last {
				continue
			}
			if err := w.storeFrame(&f); err != nil {
				return err
			}
			if f.kind == kindRecord {
				last = max(last, f.seq)
			}
		}
		return run(w.commitTx, nil)
	})
	if err != nil {
		_ = w.conn.Raw(func(any) error {
			// It fails if SQLite has already rolled back.
			_ = run(w.rollback, nil)
			return nil
		})
		return fmt.Errorf("writing: %w", err)
	}
	w.last, w.stale = last, false
	return nil
}

// storeFrame stores a frame. An answer has the sequence number of its record and does
// not change last.
func (w *writer) storeFrame(f *frame) error {
	var values []driver.NamedValue
	stmt := w.insert
	if f.kind == kindAnswer {
		stmt = w.answer
		values = numbered(f.time, f.texts[answerVerdict], f.json, f.seq)
	} else {
		values = numbered(f.seq, int64(formatJSON), f.texts[textID], f.time, int64(f.uid),
			f.texts[textSession], f.texts[textAgent], f.texts[textTool], f.texts[textVerdict], f.texts[textBy],
			f.latency, f.json)
	}
	return run(stmt, values)
}

func numbered(values ...driver.Value) []driver.NamedValue {
	named := make([]driver.NamedValue, len(values))
	for i, v := range values {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return named
}

// refresh recovers from an error: the failed commit may have happened after
// all, and the connection may be unusable.
func (w *writer) refresh() error {
	if last, err := newest(context.Background(), w.conn); err == nil {
		w.last, w.stale = last, false
		return nil
	}
	_ = w.finish() // its error was reported already
	return w.prepare(w.db, w.inPlace)
}

// has reports whether the database has that record under that number.
func (w *writer) has(seq int64, id string) (bool, error) {
	var there string
	err := w.conn.QueryRowContext(context.Background(), "SELECT id FROM decisions WHERE seq = ?", seq).Scan(&there)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return there == id, err
}

func run(stmt driver.Stmt, args []driver.NamedValue) error {
	_, err := stmt.(driver.StmtExecContext).ExecContext(context.Background(), args)
	return err
}

// finish returns the connection.
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
