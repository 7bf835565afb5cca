// Package seals gives each row of the choices a checksum, so that a row that was changed
// by anything but permd is noticed: SQLite has none, and a single other bit can turn a
// reject into one of another command, or a revoked allow into one in force.
//
// A seal is a keyed digest, so a damaged key is noticed as well. It is no protection from
// whoever may write the database, who can read the key there.
package seals

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
)

// columns are those that a seal covers: all that decides what a row matches, and whether
// it is in force. Not among them are counters, and what is only for people (bound).
const columns = `id, uid, verdict, kind, pattern, facts, digest, pins, scope, scope_key, scope_conn,
	decision, created, expires, confirmed, parts, looked, revoked, revoked_by`

const numColumns = 19

// size is the length of a seal in bytes.
const size = 16

// DB is a database or a transaction.
type DB interface {
	Query(query string, args ...any) (*sql.Rows, error)
	Exec(query string, args ...any) (sql.Result, error)
}

// Of returns the seal of a row that is in force, of the values of its columns from id to
// looked, which are nil, int64, string or []byte.
func Of(key []byte, values ...any) []byte { return of(key, append(values, nil, nil)) }

func of(key []byte, values []any) []byte {
	b := append([]byte("seal 1\x00"), key...)
	for _, v := range values {
		var text []byte
		switch v := v.(type) {
		case nil:
		case int64:
			b = binary.BigEndian.AppendUint64(append(b, 'i'), uint64(v))
			continue
		case string:
			text = []byte(v)
		case []byte:
			text = v
		default:
			panic(fmt.Sprintf("a column is a %T", v)) // no caller has one
		}
		// Drivers differ in whether what is empty is NULL.
		b = append(binary.BigEndian.AppendUint64(append(b, 't'), uint64(len(text))), text...)
	}
	sum := sha256.Sum256(b)
	return sum[:size]
}

// row is a row as it is stored.
type row struct {
	n          int64
	seal, want []byte
}

func (r *row) intact() bool { return bytes.Equal(r.seal, r.want) }

// read calls f with the rows that where selects. It stops at the first that cannot be read.
func rowsOf(db DB, key []byte, f func(*row), where string, args ...any) (err error) {
	rows, err := db.Query("SELECT n, seal, "+columns+" FROM choices WHERE "+where, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values := make([]any, numColumns)
	var r row
	into := []any{&r.n, &r.seal}
	for i := range values {
		into = append(into, &values[i])
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		r.want = of(key, values)
		f(&r)
	}
	return rows.Err()
}

// Changed returns the rows among those that where selects whose seal is missing or not
// theirs.
func Changed(db DB, key []byte, where string, args ...any) (rows []int64, err error) {
	err = rowsOf(db, key, func(r *row) {
		if !r.intact() {
			rows = append(rows, r.n)
		}
	}, where, args...)
	return rows, err
}

// Update changes columns of the rows that where selects, and returns how many these were
// and how many of them were not intact. Those stay so, or a damaged row would look like
// one that permd wrote.
func Update(db DB, key []byte, set string, to []any, where string, args ...any) (updated, damaged int64, err error) {
	var rows []int64
	intact := map[int64]bool{}
	err = rowsOf(db, key, func(r *row) {
		rows = append(rows, r.n)
		intact[r.n] = r.intact()
	}, where, args...)
	if err != nil {
		return 0, 0, err
	}
	for _, n := range rows {
		if _, err := db.Exec("UPDATE choices SET "+set+" WHERE n = ?", append(to[:len(to):len(to)], n)...); err != nil {
			return 0, 0, err
		}
		if !intact[n] {
			damaged++
			continue
		}
		if err := seal(db, key, "n = ?", n); err != nil {
			return 0, 0, err
		}
	}
	return int64(len(rows)), damaged, nil
}

// All seals the rows of a database of an earlier permd, which have no seal yet.
func All(db DB, key []byte) error { return seal(db, key, "seal IS NULL") }

func seal(db DB, key []byte, where string, args ...any) error {
	sums := map[int64][]byte{}
	if err := rowsOf(db, key, func(r *row) { sums[r.n] = r.want }, where, args...); err != nil {
		return err
	}
	for n, sum := range sums {
		if _, err := db.Exec("UPDATE choices SET seal = ? WHERE n = ?", sum, n); err != nil {
			return err
		}
	}
	return nil
}
