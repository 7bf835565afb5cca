// Package windows looks at the texts of many records together. To hand each row to Go takes
// longer than to look at it, so SQLite puts the texts of many rows together, and each body is
// looked at once.
package windows

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/body"
)

const (
	// Rows is how many numbers are looked at together.
	Rows = 256
	// atOnce is the number of texts that are read by their numbers at once.
	atOnce = 128
	// smallText is the size up to which texts are put together, in bytes.
	smallText = 64 << 10
	// maxKnown bounds the bodies that are known at once.
	maxKnown = 4 * body.SharedFor
)

// Item is a decision of a window.
type Item struct {
	Seq int64
	// Text is the number of the body that has its text, the negated number of the decision
	// if the record is stored whole, and 0 if it cannot be read.
	Text    int64
	Verdict decisions.Verdict
}

// Where returns the condition on decisions, d, that selects those with numbers from low to high
// that are wanted.
type Where func(low, high int64) (text string, args []any)

// Windows looks at the texts of the decisions that a condition selects.
type Windows[T any] struct {
	db    Queryer
	where Where
	use   func(text []byte) T
	// known is what use has returned, by Item.Text.
	known map[int64]T
	// smallBodies is prepared: texts of bodies within bounds.
	smallBodies *sql.Stmt
}

// Queryer is a connection or a transaction.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// New returns windows on a journal's database, which must be closed. Use is called with each
// text once, or again after many others.
func New[T any](ctx context.Context, db Queryer, where Where, use func(text []byte) T) (*Windows[T], error) {
	stmt, err := db.PrepareContext(ctx, bodiesWithin.small)
	return &Windows[T]{db, where, use, map[int64]T{}, stmt}, err
}

// Close closes the windows.
func (w *Windows[T]) Close() { _ = w.smallBodies.Close() } // it has only read

// Known returns what use has returned for a text that At has found. It is false if that could
// not be read.
func (w *Windows[T]) Known(text int64) (T, bool) {
	known, ok := w.known[text]
	return known, ok
}

// items selects numbers, texts and verdicts.
const items = `SELECT CAST(group_concat(d.seq || ' ' ||
	CASE WHEN d.format = 2 AND d.shared > 0 THEN d.shared WHEN d.format = 1 AND d.shared IS NULL THEN -d.seq ELSE 0 END || ' ' ||
	CASE d.verdict WHEN 'allow' THEN 1 WHEN 'ask' THEN 2 WHEN 'deny' THEN 3 ELSE 0 END, ' ') AS BLOB) FROM decisions d`

// verdictNumbers are the verdicts by their numbers in items.
var verdictNumbers = [...]decisions.Verdict{"", decisions.Allow, decisions.Ask, decisions.Deny}

// texts are two queries: small has small texts in one value, each after its number and its
// size, and how many others there are; large has those, a row each.
type texts struct{ small, large string }

func textsOf(number, text, from string) texts {
	const small = "length(%[2]s) <= %[4]d"
	fill := func(format string) string { return fmt.Sprintf(format, number, text, from, smallText) }
	return texts{
		fill("SELECT CAST(group_concat(%[1]s || ' ' || length(%[2]s) || ' ' || %[2]s, '') FILTER (WHERE " + small + ") AS BLOB), coalesce(sum(NOT " + small + "), 0) FROM %[3]s"),
		fill("SELECT %[1]s, %[2]s FROM %[3]s AND NOT " + small),
	}
}

var bodiesWithin = textsOf("first", "text", "bodies WHERE first BETWEEN ? AND ?")

// At returns the selected decisions with numbers from low to high, at most Rows, in their order,
// and makes their texts known.
func (w *Windows[T]) At(ctx context.Context, low, high int64) ([]Item, error) {
	list, err := Items(ctx, w.db, low, high, w.where)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if len(w.known) > maxKnown {
		clear(w.known)
	}
	bodies, whole, within := w.unknown(list, low)
	if within > len(list)/8 {
		if err := w.read(ctx, w.smallBodies, bodiesWithin, []any{low, high}); err != nil {
			return nil, err
		}
		bodies, whole, _ = w.unknown(list, low)
	}
	for numbers, of := range map[*[]int64]func(among string) texts{
		&bodies: func(among string) texts { return textsOf("first", "text", "bodies WHERE first IN "+among) },
		&whole:  func(among string) texts { return textsOf("-seq", "record", "decisions WHERE seq IN "+among) },
	} {
		for some := range slices.Chunk(*numbers, atOnce) {
			args := make([]any, len(some))
			for i, n := range some {
				args[i] = n
			}
			if err := w.read(ctx, nil, of("(?"+strings.Repeat(", ?", len(some)-1)+")"), args); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// Items returns the decisions with numbers from low to high that a condition selects, in their
// order.
func Items(ctx context.Context, db Queryer, low, high int64, where Where) (list []Item, err error) {
	text, args := where(low, high)
	rows, err := db.QueryContext(ctx, items+text, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var data sql.RawBytes
		if err := rows.Scan(&data); err != nil {
			return nil, err
		}
		if list, err = parseItems(data); err != nil {
			return nil, err
		}
	}
	return list, rows.Err()
}

// unknown returns the numbers of bodies and of whole records whose texts are not known, and
// how many of the bodies are within bounds.
func (w *Windows[T]) unknown(list []Item, low int64) (bodies, whole []int64, within int) {
	for _, i := range list {
		_, ok := w.known[i.Text]
		switch {
		case ok || i.Text == 0:
		case i.Text < 0:
			whole = append(whole, -i.Text)
		default:
			if bodies = append(bodies, i.Text); i.Text >= low {
				within++
			}
		}
	}
	return bodies, whole, within
}

// read makes texts known.
func (w *Windows[T]) read(ctx context.Context, small *sql.Stmt, of texts, args []any) error {
	others := 0
	err := w.rows(ctx, small, of.small, args, func(scan func(...any) error) error {
		var data sql.RawBytes
		if err := scan(&data, &others); err != nil {
			return err
		}
		return eachText(data, w.note)
	})
	if err != nil || others == 0 {
		return err
	}
	return w.rows(ctx, nil, of.large, args, func(scan func(...any) error) error {
		var n int64
		var text sql.RawBytes
		if err := scan(&n, &text); err != nil {
			return err
		}
		w.note(n, text)
		return nil
	})
}

func (w *Windows[T]) note(n int64, text []byte) {
	if _, ok := w.known[n]; !ok {
		w.known[n] = w.use(text)
	}
}

// rows calls use for each row of a query, which may be prepared.
func (w *Windows[T]) rows(ctx context.Context, stmt *sql.Stmt, text string, args []any, use func(scan func(...any) error) error) (err error) {
	var rows *sql.Rows
	if stmt != nil {
		rows, err = stmt.QueryContext(ctx, args...)
	} else {
		rows, err = w.db.QueryContext(ctx, text, args...)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := use(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

var errTexts = errors.New("texts that are not as they were put together")

// parseItems reads what items selects.
func parseItems(data []byte) (list []Item, err error) {
	numbers := bytes.Fields(data)
	if len(numbers)%3 != 0 {
		return nil, errTexts
	}
	list = make([]Item, 0, len(numbers)/3)
	for three := range slices.Chunk(numbers, 3) {
		var n [3]int64
		for i, digits := range three {
			if n[i], err = strconv.ParseInt(string(digits), 10, 64); err != nil {
				return nil, errTexts
			}
		}
		if n[2] < 0 || n[2] >= int64(len(verdictNumbers)) {
			return nil, errTexts
		}
		list = append(list, Item{n[0], n[1], verdictNumbers[n[2]]})
	}
	slices.SortFunc(list, func(a, b Item) int { return cmp.Compare(a.Seq, b.Seq) })
	return list, nil
}

// eachText calls use for each of the small texts.
func eachText(data []byte, use func(n int64, text []byte)) error {
	for len(data) > 0 {
		var n [2]int64 // number and size
		for i := range n {
			digits, rest, ok := bytes.Cut(data, []byte(" "))
			value, err := strconv.ParseInt(string(digits), 10, 64)
			if !ok || err != nil {
				return errTexts
			}
			n[i], data = value, rest
		}
		if n[1] < 0 || n[1] > int64(len(data)) {
			return errTexts
		}
		use(n[0], data[:n[1]])
		data = data[n[1]:]
	}
	return nil
}

// Numbers reads rows of one number.
func Numbers(ctx context.Context, q Queryer, query string, args ...any) (list []int64, _ error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, rows.Err()
}
