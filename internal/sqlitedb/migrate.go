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
)

// version is what a database says about itself.
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

// check refuses a database that is not ours or newer than we are.
func (v version) check(o *Options) error {
	switch {
	case v == version{}:
		return nil // nothing in it yet
	case v.app != o.ApplicationID:
		return fmt.Errorf("%w: application id %#x, want %#x", ErrForeign, v.app, o.ApplicationID)
	case v.user > len(o.Migrations):
		return fmt.Errorf("%w: version %d, this one knows %d", ErrNewer, v.user, len(o.Migrations))
	case v.user < 1:
		return fmt.Errorf("%w: it has no version", ErrDamaged)
	}
	return nil
}

// probe looks at an existing database before anything writes to it: setting
// the journal mode alone would change a file of another program.
func probe(drv driver.Driver, o *Options) (err error) {
	mode := "ro"
	if hasContent(o.Path + "-journal") {
		// A crash while the file was made: a reader cannot roll it back.
		mode = "rw"
	}
	db := sql.OpenDB(&connector{drv: drv, dsn: dsn(o.Path, mode), pragmas: commonPragmas})
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	v, err := readVersion(db)
	if err != nil {
		return damaged(err)
	}
	if err := v.check(o); err != nil {
		return err
	}
	return damaged(quickCheck(db))
}

// quickCheck reads the whole file. Damage comes back as text, not as an error.
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

// migrate migrates the database to the newest version, all steps in one
// transaction, so that a crash leaves the old version or the new one.
func migrate(db *sql.DB, o *Options) (err error) {
	before, err := readVersion(db)
	if err != nil {
		return err
	}
	if before.user > 0 && before.user < len(o.Migrations) {
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
	// Again, under the lock: another process may have been quicker.
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

// backup leaves a copy of the database, PATH.backup-vVERSION-TIME, that
// survives a power loss. It takes the place of earlier ones of that version, so
// that a migration which fails again and again does not fill the disk.
func backup(db *sql.DB, o *Options, user int) error {
	name, err := unusedName(fmt.Sprintf("%s.backup-v%d-%s", o.Path, user, stamp(o.now())))
	if err != nil {
		return err
	}
	// SQLite accepts an empty file as the target and would make another one
	// readable for all.
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

// dropBackups removes the backups of a version but the one of that name.
func dropBackups(path string, user int, but string) error {
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	prefix := fmt.Sprintf("%s.backup-v%d-", filepath.Base(path), user)
	for _, n := range names {
		if strings.HasPrefix(n.Name(), prefix) && n.Name() != but && n.Type().IsRegular() {
			if err := os.Remove(filepath.Join(filepath.Dir(path), n.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
