// Package history records what people change of their choices, in the database of the
// memory, and says which of it was taken back. It changes no choice.
package history

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
)

// What says what a person has done.
type What string

// The changes. An import adds choices from a file; an undo takes another change back.
const (
	Add    What = "add"
	Answer What = "answer"
	Forget What = "forget"
	Edit   What = "change"
	Import What = "import"
	Undo   What = "undo"
)

// Kept is how many changes of one person are kept, the newest.
const Kept = 200

// Change is one change of a person's choices, all of which took effect at once.
type Change struct {
	ID   string
	UID  uint32
	Time time.Time
	What What
	// Undoes is the id of the change that an undo took back.
	Undoes string
	// Began are the ids of the choices that are in force since, Ended those that were before.
	Began, Ended []string
	// UndoneBy is the undo that took it back, "" if it is in effect. List sets it.
	UndoneBy string

	row int64
}

// Record stores a change, and drops the oldest ones of the same person beyond Kept.
func Record(tx *sql.Tx, c *Change) error {
	res, err := tx.Exec("INSERT INTO changes (id, uid, at, what, undoes) VALUES (?, ?, ?, ?, ?)", c.ID, int64(c.UID), c.Time.UnixNano(), string(c.What), c.Undoes)
	if err != nil {
		return fmt.Errorf("recording a change: %w", err)
	}
	row, err := res.LastInsertId()
	if err != nil {
		return fmt.Errorf("recording a change: %w", err)
	}
	for ended, ids := range [][]string{c.Began, c.Ended} {
		for _, id := range ids {
			if _, err := tx.Exec("INSERT INTO changed_choices (change, choice, ended) VALUES (?, ?, ?)", row, id, ended); err != nil {
				return fmt.Errorf("recording a change: %w", err)
			}
		}
	}
	return drop(tx, "SELECT n FROM changes WHERE uid = ? AND n <= (SELECT n FROM changes WHERE uid = ? ORDER BY n DESC LIMIT 1 OFFSET ?)", int64(c.UID), int64(c.UID), Kept)
}

// Remove removes the change that a choice began with, as if there had been none.
func Remove(tx *sql.Tx, choice string) error {
	return drop(tx, "SELECT n FROM changes JOIN changed_choices ON change = n WHERE choice = ? AND ended = 0 AND what <> 'undo'", choice)
}

// drop removes the changes whose rows a query selects.
func drop(tx *sql.Tx, query string, args ...any) error {
	var found []int64
	err := each(tx, query, args, func(rows *sql.Rows) error {
		var n int64
		err := rows.Scan(&n)
		found = append(found, n)
		return err
	})
	for _, n := range found {
		for _, query := range []string{"DELETE FROM changed_choices WHERE change = ?", "DELETE FROM changes WHERE n = ?"} {
			if err == nil {
				_, err = tx.Exec(query, n)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("removing changes: %w", err)
	}
	return nil
}

// List returns the changes of a person that are kept, the newest first.
func List(db *sql.DB, uid uint32) (list []Change, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("reading changes: %w", err)
		}
	}()
	byRow := map[int64]int{}
	err = each(db, "SELECT n, id, at, what, undoes FROM changes WHERE uid = ? ORDER BY n DESC", []any{int64(uid)}, func(rows *sql.Rows) error {
		c := Change{UID: uid}
		var at int64
		if err := rows.Scan(&c.row, &c.ID, &at, &c.What, &c.Undoes); err != nil {
			return err
		}
		c.Time = time.Unix(0, at).UTC()
		byRow[c.row] = len(list)
		list = append(list, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = each(db, "SELECT change, choice, ended FROM changed_choices WHERE change IN (SELECT n FROM changes WHERE uid = ?) ORDER BY rowid", []any{int64(uid)}, func(rows *sql.Rows) error {
		var row int64
		var choice string
		var ended bool
		if err := rows.Scan(&row, &choice, &ended); err != nil {
			return err
		}
		i, ok := byRow[row]
		if !ok {
			return nil
		}
		if ids := &list[i].Began; ended {
			list[i].Ended = append(list[i].Ended, choice)
		} else {
			*ids = append(*ids, choice)
		}
		return nil
	})
	markUndone(list)
	return list, err
}

// markUndone sets UndoneBy. An undo that was itself taken back takes nothing back, and what
// undoes a change is newer than it.
func markUndone(list []Change) {
	by := map[string]string{}
	for i := range list {
		c := &list[i]
		if c.UndoneBy = by[c.ID]; c.UndoneBy == "" && c.Undoes != "" {
			by[c.Undoes] = c.ID
		}
	}
}

// Owner returns whose change has an id; false if none has.
func Owner(db *sql.DB, id string) (uint32, bool, error) {
	var uid int64
	err := db.QueryRow("SELECT uid FROM changes WHERE id = ?", id).Scan(&uid)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("reading changes: %w", err)
	}
	return uint32(uid), true, nil
}

// Latest returns the id of the newest change that a choice began or ended with, "" if none
// is kept.
func Latest(db *sql.DB, choice string) string {
	var id string
	if db.QueryRow("SELECT id FROM changes JOIN changed_choices ON change = n WHERE choice = ? ORDER BY n DESC LIMIT 1", choice).Scan(&id) != nil {
		return ""
	}
	return id
}

// EndedBy returns the newest change of a list, which is as List returns it, by which a choice
// ended and that is in effect; nil if there is none.
func EndedBy(list []Change, choice string) *Change {
	for i := range list {
		if c := &list[i]; c.UndoneBy == "" && slices.Contains(c.Ended, choice) {
			return c
		}
	}
	return nil
}

func each(db interface {
	Query(query string, args ...any) (*sql.Rows, error)
}, query string, args []any, do func(*sql.Rows) error) (err error) {
	rows, err := db.Query(query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
