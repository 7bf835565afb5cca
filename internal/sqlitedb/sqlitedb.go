// Package sqlitedb opens a SQLite database safely: in a folder of our own, with
// settings that are verified, of a version that this program knows, and only
// after a check. The journal and the memory of permd are built on it; it does
// not know what they store.
//
// A database has one connection that writes and a few that only read. Only one
// process writes; others may read at the same time with OpenReadOnly.
//
// Never open the file of a live database by other means, not even to hash or
// copy it: closing any descriptor of it drops the POSIX locks that SQLite of
// the same process holds.
package sqlitedb

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/permd/permd/internal/lockfile"
)

// Errors that callers distinguish. They are wrapped, with the path.
var (
	// ErrNewer means that a newer permd wrote the database, which was not changed.
	ErrNewer = errors.New("database is from a newer version of permd")
	// ErrOlder means that the database must be migrated before it can be read. Only
	// OpenReadOnly returns it.
	ErrOlder = errors.New("database is from an older version of permd")
	// ErrForeign means that the file is a database of another program, which was not
	// changed.
	ErrForeign = errors.New("database belongs to another program")
	// ErrDamaged means that the file cannot be trusted; see SetAside.
	ErrDamaged = errors.New("database is damaged")
	// ErrUnsafe means that someone else could change the file or its folder.
	ErrUnsafe = errors.New("not safe to use")
	// errOldSQLite means that this program was linked with a version of SQLite that can
	// damage a database to which two connections write.
	errOldSQLite = errors.New("SQLite is older than 3.51.3")
)

// Synchronous says what a committed transaction survives.
type Synchronous int

// The values are those of SQLite's pragma. The driver silently defaults to Normal.
const (
	Normal Synchronous = 1 // a killed process; after a power failure, the latest commits may be missing
	Full   Synchronous = 2 // a power failure
)

// Options describe the database to open.
type Options struct {
	// Path is the absolute path of the database's file. Its folder is created with mode
	// 0700 if it is missing; it must belong to the current user alone.
	Path string
	// ApplicationID identifies the program's databases. It must not be 0.
	ApplicationID int32
	// Migrations are SQL scripts. Migrations[i] changes a database of version i to
	// version i+1. All run in one transaction, so they must not contain one.
	Migrations []string
	// Synchronous is Normal or Full.
	Synchronous Synchronous
	// autoCheckpoint is the length of the write-ahead log, in pages, at which a commit
	// checkpoints it and syncs the file; 0 means SQLite's default of 1000. Callers of
	// Fold can make it large.
	autoCheckpoint int
	// Additive says that the migrations only add tables, columns and indexes, so
	// that no backup is needed before them.
	Additive bool
	// Shrinks makes a new database one whose free pages Shrink can return to the
	// file system. An existing one becomes such a database by Compact.
	Shrinks bool
	// SecureDelete overwrites what is deleted or replaced with zeros, so that it cannot
	// be read from the file any more once the log is folded (see Fold). It costs writes
	// of pages that would only have become free.
	SecureDelete bool
	// Now is the clock for the names of backups; nil means time.Now.
	Now func() time.Time
}

// maxReaders is the number of connections for reading only. Reads are rare compared to
// writes: lists, follows, exports.
const maxReaders = 4

// DB is an open database.
type DB struct {
	// Write has exactly one connection, whose transactions take the write lock when they
	// begin. It is nil after OpenReadOnly.
	Write *sql.DB
	// Read has connections that cannot write.
	Read *sql.DB

	lock    *lockfile.Lock
	watched *watchedFiles
}

// Open opens a database for writing and reading. It creates or migrates the database if
// needed; before a migration it makes a backup next to the file. The Err… variables list
// what it refuses.
func Open(o Options) (*DB, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	drv, err := newDriver()
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", o.Path, err)
	}
	if err := prepareFolder(filepath.Dir(o.Path)); err != nil {
		return nil, err
	}
	lock, err := lockDatabase(o.Path)
	if err != nil {
		return nil, err
	}
	db, err := open(drv, &o)
	if err != nil {
		return nil, errors.Join(err, lock.Free())
	}
	db.lock = lock
	return db, nil
}

// open is Open while the lock is held.
func open(drv driver.Driver, o *Options) (*DB, error) {
	fresh, err := prepare(o.Path)
	if err != nil {
		return nil, err
	}
	if !fresh {
		if err := probe(drv, o); err != nil {
			return nil, fmt.Errorf("opening %s: %w", o.Path, err)
		}
	}
	db := &DB{Write: writer(drv, o), Read: reader(drv, o)}
	err = migrate(db.Write, o)
	if err == nil {
		err = checkSchema(drv, db.Write, o)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", o.Path, markDamaged(err)), db.Close())
	}
	if err := db.Read.Ping(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s to read: %w", o.Path, markDamaged(err)), db.Close())
	}
	if db.watched, err = watchFiles(o.Path); err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", o.Path, err), db.Close())
	}
	return db, nil
}

// OpenReadOnly opens an existing database for reading, whether or not another process is
// writing to it. The error is fs.ErrNotExist if there is none. It does not check the
// whole database for damage.
func OpenReadOnly(o Options) (*DB, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	drv, err := newDriver()
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", o.Path, err)
	}
	if err := checkReadable(o.Path); err != nil {
		return nil, err
	}
	db := &DB{Read: reader(drv, &o)}
	v, err := readVersion(db.Read)
	if err == nil {
		err = v.check(&o)
	}
	if err == nil && v.user < len(o.Migrations) {
		err = fmt.Errorf("%w: start the daemon once to migrate it", ErrOlder)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", o.Path, markDamaged(err)), db.Close())
	}
	return db, nil
}

// OpenDamaged opens a database that was set aside, to read what is still readable. It
// checks nothing: any query may fail at any row, and any result may be wrong.
func OpenDamaged(path string) (*sql.DB, error) {
	drv, err := newDriver()
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	if err := checkReadable(path); err != nil {
		return nil, err
	}
	db := sql.OpenDB(&connector{drv: drv, dsn: dsn(path, "ro"), pragmas: commonPragmas})
	db.SetMaxOpenConns(1)
	return db, nil
}

// Fold checkpoints the whole write-ahead log into the file and empties it. It is for
// data that must not depend on the log, because SQLite silently drops the rest of a log
// from the first damaged frame on. It syncs twice and must not be called in a
// transaction.
func (db *DB) Fold() error {
	return db.watched.whileTruncating(func() error {
		var busy, logged, folded int
		if err := db.Write.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &logged, &folded); err != nil {
			return fmt.Errorf("folding the log into the database: %w", err)
		}
		return nil
	})
}

// InPlace returns an error that wraps ErrGone if the database's files, or its folder, are
// no longer those that were opened. Call it before a commit that must be durable. It takes
// some microseconds, and five seconds at most where the path leads through a file system
// that does not answer. It is safe for concurrent use.
func (db *DB) InPlace() error { return db.watched.check(lookLimit) }

// QuickInPlace is InPlace in about a microsecond, and one second at most, for decisions. It
// does not notice that a folder above the database's was renamed, or that a file was
// truncated, before InPlace does.
func (db *DB) QuickInPlace() error { return db.watched.quick() }

// Close closes all connections. The writing one is last, so that it can fold the log
// into the file.
func (db *DB) Close() error {
	err := db.Read.Close()
	if db.Write != nil {
		err = errors.Join(err, db.Write.Close())
	}
	if db.watched != nil {
		err = errors.Join(err, db.watched.close())
	}
	if db.lock != nil {
		err = errors.Join(err, db.lock.Free()) // last: until here, the lock protects the files
	}
	if err != nil {
		return fmt.Errorf("closing database: %w", err)
	}
	return nil
}

// IsDamaged reports whether an error, from opening the database or from using it, says
// that its file is damaged.
func IsDamaged(err error) bool { return errors.Is(err, ErrDamaged) || saysDamaged(err) }

// IsFull reports whether an error, of the database or of a file next to it, says that
// the disk is full or a limit of the file size was reached. Stored data stays readable.
func IsFull(err error) bool {
	return saysFull(err) || errors.Is(err, syscall.EFBIG) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// markDamaged wraps an error with ErrDamaged if SQLite says that it means damage.
func markDamaged(err error) error {
	if saysDamaged(err) && !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

func (o *Options) check() error {
	switch {
	case !filepath.IsAbs(o.Path) || filepath.Clean(o.Path) != o.Path:
		return fmt.Errorf("opening %q: want an absolute, clean path", o.Path)
	case o.ApplicationID == 0 || len(o.Migrations) == 0:
		return fmt.Errorf("opening %s: application id or migrations missing", o.Path)
	case o.autoCheckpoint < 0:
		return fmt.Errorf("opening %s: negative checkpoint size", o.Path)
	case o.Synchronous != Normal && o.Synchronous != Full:
		return fmt.Errorf("opening %s: unknown synchronous mode %d", o.Path, o.Synchronous)
	}
	return nil
}

func (o *Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}
