package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/permd/permd/decisions/journal/chain"
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

	rows                                          rowWriter
	chain                                         chainWriter
	answer, ran, ended, begin, commitTx, rollback statement
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
	if err := w.chain.load(context.Background(), conn); err != nil {
		return errors.Join(err, conn.Close())
	}
	w.rows.forget()
	err = conn.Raw(func(raw any) error {
		for _, s := range w.statements() {
			if err := s.stmt.prepare(raw.(driver.Conn), s.query, s.args); err != nil {
				return fmt.Errorf("preparing %q: %w", s.query, err)
			}
		}
		return nil
	})
	if err != nil {
		return errors.Join(err, w.finish())
	}
	w.chain.bind(&w.rows.insert)
	return nil
}

// statements are what prepare prepares.
func (w *writer) statements() []preparation {
	return append(append(w.rows.statements(), w.chain.statements()...), []preparation{
		{&w.answer, setAnswer, 4},
		{&w.ran, setRan, 2},
		{&w.ended, setEnded, 3},
		{&w.begin, "BEGIN IMMEDIATE", 0},
		{&w.commitTx, "COMMIT", 0},
		{&w.rollback, "ROLLBACK", 0},
	}...)
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
		if err := w.begin.run(); err != nil {
			return err
		}
		for f, err := range frames(all) {
			if err != nil {
				return err
			}
			if f.kind == chain.Record && f.seq <= last {
				continue
			}
			if err := w.storeFrame(&f); err != nil {
				return err
			}
			if f.kind == chain.Record {
				last = max(last, f.seq)
			}
		}
		if err := w.rows.finish(); err != nil {
			return err
		}
		if err := w.chain.finish(); err != nil {
			return err
		}
		return w.commitTx.run()
	})
	if err != nil {
		w.rows.forget()
		_ = w.conn.Raw(func(any) error {
			// It fails if SQLite has already rolled back.
			_ = w.rollback.run()
			return nil
		})
		return fmt.Errorf("writing: %w", err)
	}
	w.last, w.stale = last, false
	return nil
}

// storeFrame stores a frame. An answer and a report have the sequence number of their
// record and do not change last.
func (w *writer) storeFrame(f *frame) error {
	switch f.kind {
	case chain.Answer:
		w.answer.number(0, f.time)
		w.answer.text(1, f.texts[answerVerdict])
		w.answer.bytes(2, f.json)
		w.answer.number(3, f.seq)
		return w.add(&w.answer, f)
	case chain.Ran:
		w.ran.number(0, f.time)
		w.ran.number(1, f.seq)
		return w.add(&w.ran, f)
	case chain.Ended:
		w.ended.number(0, f.time)
		w.ended.text(1, f.json)
		w.ended.number(2, f.seq)
		return w.add(&w.ended, f)
	}
	w.chain.add(f)
	return w.rows.store(f)
}

// add adds something to a record, which then is an entry of the chain. If the record
// is gone or has something already, nothing is added.
func (w *writer) add(to *statement, f *frame) error {
	changed, err := to.changes()
	if err != nil || changed == 0 {
		return err
	}
	return w.chain.note(f)
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
		return w.chain.load(context.Background(), w.conn)
	}
	_ = w.finish() // its error was reported already
	return w.prepare(w.db, w.inPlace)
}

// had reports whether the database has that record under that number, or may have
// had it: retention has removed all that are known to be older.
func (w *writer) had(seq int64, id string) (bool, error) {
	var there string
	err := w.conn.QueryRowContext(context.Background(), "SELECT id FROM decisions WHERE seq = ?", seq).Scan(&there)
	if errors.Is(err, sql.ErrNoRows) {
		var cut int64
		err = w.conn.QueryRowContext(context.Background(), "SELECT cut FROM retained").Scan(&cut)
		return seq <= cut, err
	}
	return there == id, err
}

// finish returns the connection.
func (w *writer) finish() error {
	err := w.conn.Raw(func(any) error {
		var errs []error
		for _, s := range w.statements() {
			errs = append(errs, s.stmt.close())
		}
		return errors.Join(errs...)
	})
	return errors.Join(err, w.conn.Close())
}
