package remember

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/permd/permd/internal/sqlitedb"
	"github.com/permd/permd/remember/seals"
)

// Check reports whether this permd can read the memory at a path. It opens it
// read-only, as a daemon may have it open. The error wraps fs.ErrNotExist,
// sqlitedb.ErrNewer, ErrForeign, ErrDamaged or ErrUnsafe. An older memory,
// which the daemon migrates, is not an error.
func Check(path string) error {
	s := &Store{options: Options{Path: path}}
	db, err := sqlitedb.OpenReadOnly(s.database())
	if errors.Is(err, sqlitedb.ErrOlder) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.key, err = readKey(db.Read); err == nil {
		err = s.checkSealed(db.Read)
	}
	return errors.Join(err, db.Close())
}

// checkSeals returns an error if a row is not as permd wrote it. Which one it is may not be
// known, so no other row helps: an allow that was revoked may be in force, and a reject
// gone. Rows of an earlier permd get their seals.
func (s *Store) checkSeals(db *sql.DB) error {
	var sealed int
	if err := db.QueryRow("SELECT count(*) FROM meta WHERE name = 'sealed'").Scan(&sealed); err != nil {
		return fmt.Errorf("reading whether rows are sealed: %w", err)
	}
	if sealed == 0 {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		err = seals.All(tx, s.key[:])
		if err == nil {
			_, err = tx.Exec("INSERT INTO meta (name, value) VALUES ('sealed', x'')")
		}
		if err != nil {
			return fmt.Errorf("sealing choices: %w", errors.Join(err, tx.Rollback()))
		}
		if err := tx.Commit(); err != nil {
			return fmt.Errorf("sealing choices: %w", err)
		}
	}
	return s.checkSealed(db)
}

// checkSealed returns an error if a row is not as permd wrote it.
func (s *Store) checkSealed(db *sql.DB) error {
	rows, err := seals.Changed(db, s.key[:], "true")
	if err != nil {
		return fmt.Errorf("reading choices: %w", err)
	}
	if len(rows) > 0 {
		return fmt.Errorf("%w: %d of its choices are not as they were written", sqlitedb.ErrDamaged, len(rows))
	}
	return nil
}
