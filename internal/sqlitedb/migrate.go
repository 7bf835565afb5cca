package sqlitedb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/permd/permd/internal/lazy"
)

// version is what a database's header and schema say about its version.
type version struct {
	app    int32
	user   int
	tables int
}

// querier is a database, a connection or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func readVersion(q querier) (version, error) {
	var v version
	ctx := context.Background()
	for _, read := range []struct {
		query string
		into  any
	}{
		{"PRAGMA application_id", &v.app},
		{"PRAGMA user_version", &v.user},
		{"SELECT count(*) FROM sqlite_schema", &v.tables},
	} {
		if err := q.QueryRowContext(ctx, read.query).Scan(read.into); err != nil {
			return version{}, fmt.Errorf("reading version: %w", err)
		}
	}
	return v, nil
}

// check returns an error for a database of another program or of a newer permd.
func (v version) check(o *Options) error {
	switch {
	case v == version{}:
		return nil // it is empty
	case v.app != o.ApplicationID:
		return fmt.Errorf("%w: application id %#x, want %#x", ErrForeign, v.app, o.ApplicationID)
	case v.user > len(o.Migrations):
		return fmt.Errorf("%w: version %d, this one knows %d", ErrNewer, v.user, len(o.Migrations))
	case v.user < 1:
		return fmt.Errorf("%w: it has no version", ErrDamaged)
	}
	return nil
}

// probe checks an existing database before anything is written to it: even setting the
// journal mode would change a file of another program.
func probe(drv driver.Driver, o *Options) (err error) {
	mode := "ro"
	if hasContent(o.Path + "-journal") {
		// A crash left a rollback journal, which a reader cannot roll back.
		mode = "rw"
	}
	db := sql.OpenDB(&connector{drv: drv, dsn: dsn(o.Path, mode), pragmas: commonPragmas})
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	v, err := readVersion(db)
	if err != nil {
		return markDamaged(err)
	}
	if err := v.check(o); err != nil {
		return err
	}
	return markDamaged(quickCheck(db))
}

// quickCheck reads the whole file. SQLite reports damage as text and not as an error.
func quickCheck(q querier) error {
	var result string
	if err := q.QueryRowContext(context.Background(), "PRAGMA quick_check(1)").Scan(&result); err != nil {
		return fmt.Errorf("checking database: %w", err)
	}
	if result != "ok" {
		return fmt.Errorf("%w: %s", ErrDamaged, result)
	}
	return nil
}

// migrate migrates the database to the newest version in one transaction, so that a
// crash leaves either the old version or the new one.
func migrate(db *sql.DB, o *Options) (err error) {
	before, err := readVersion(db)
	if err != nil {
		return err
	}
	if before.user > 0 && before.user < len(o.Migrations) && !o.Additive {
		if err := backup(db, o, before.user); err != nil {
			return fmt.Errorf("backing up before the migration: %w", err)
		}
	}
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	defer func() {
		if err == nil {
			return
		}
		if rerr := tx.Rollback(); !errors.Is(rerr, sql.ErrTxDone) {
			err = errors.Join(err, rerr)
		}
	}()
	// Read again under the lock: another process may have migrated it.
	v, err := readVersion(tx)
	if err != nil {
		return err
	}
	if err := v.check(o); err != nil {
		return err
	}
	if v.user == len(o.Migrations) {
		return tx.Rollback()
	}
	for i, script := range o.Migrations[v.user:] {
		if _, err := tx.Exec(script); err != nil {
			return fmt.Errorf("migrating to version %d: %w", v.user+i+1, err)
		}
	}
	pragmas := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", o.ApplicationID, len(o.Migrations))
	if _, err := tx.Exec(pragmas); err != nil {
		return fmt.Errorf("marking the version: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	return nil
}

// backup creates a durable copy of the database, PATH.backup-vVERSION-TIME. It replaces
// earlier ones of that version, so that a migration that fails repeatedly does not fill
// the disk. Those of other versions stay.
func backup(db *sql.DB, o *Options, user int) error {
	name, err := unusedName(fmt.Sprintf("%s.backup-v%d-%s", o.Path, user, stamp(o.now())))
	if err != nil {
		return err
	}
	// SQLite accepts an empty file as the target. One that it creates itself is readable
	// for everyone.
	if err := create(name); err != nil {
		return err
	}
	if _, err := db.Exec("VACUUM INTO ?", name); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := syncFolder(filepath.Dir(name)); err != nil {
		return err
	}
	return dropBackups(o.Path, user, filepath.Base(name))
}

// dropBackups removes all backups of a version except the one with that name. Files that
// a person has put next to them, whose names only begin like theirs, stay.
func dropBackups(path string, user int, but string) error {
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, f := range files {
		if name := f.Name(); name != but && f.Type().IsRegular() && isBackup(name, filepath.Base(path), user) {
			if err := os.Remove(filepath.Join(filepath.Dir(path), name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// isBackup reports whether a name is one that backup gives: the time as stamp writes it,
// and what unusedName appends.
func isBackup(name, database string, user int) bool {
	rest, ok := strings.CutPrefix(name, fmt.Sprintf("%s.backup-v%d-", database, user))
	return ok && backupTime().MatchString(rest)
}

var backupTime = lazy.Regexp(`^[0-9]{8}T[0-9]{6}Z(-[0-9]{1,3})?$`)
