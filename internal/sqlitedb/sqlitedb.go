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

// Errors that callers tell apart. They come wrapped, with the path.
var (
	// ErrNewer means that a newer permd wrote the database. It is untouched.
	ErrNewer = errors.New("database is from a newer version of permd")
	// ErrOlder means that the database must be migrated before it can be read;
	// only OpenReadOnly returns it.
	ErrOlder = errors.New("database is from an older version of permd")
	// ErrForeign means that the file is a database of another program. It is
	// untouched.
	ErrForeign = errors.New("database belongs to another program")
	// ErrDamaged means that the file cannot be trusted; see SetAside.
	ErrDamaged = errors.New("database is damaged")
	// ErrUnsafe means that someone else could change the file or its folder.
	ErrUnsafe = errors.New("not safe to use")
	// errOldSQLite means that this program was linked with a SQLite that can
	// damage a database which two connections write to.
	errOldSQLite = errors.New("SQLite is older than 3.51.3")
)

// Synchronous is what a commit survives.
type Synchronous int

// The values are those of SQLite's pragma. The driver's default is Normal,
// silently.
const (
	Normal Synchronous = 1 // a killed process; after a power loss the newest commits may be gone
	Full   Synchronous = 2 // a power loss
)

// Options say which database to open.
type Options struct {
	// Path is the database's file, absolute. Its folder is made (0700) when it
	// is missing; it must belong to the caller and to nobody else.
	Path string
	// ApplicationID marks files of this kind; not 0.
	ApplicationID int32
	// Migrations are SQL scripts; number i brings a database of version i to
	// version i+1. They run in one transaction, so they must not contain one.
	Migrations []string
	// Synchronous is Normal or Full.
	Synchronous Synchronous
	// autoCheckpoint is the number of pages in the write-ahead log at which a
	// commit checkpoints it and syncs the file; 0 is SQLite's default of 1000.
	// Callers of Checkpoint can make it large.
	autoCheckpoint int
	// Now is the clock that names backups; time.Now if nil.
	Now func() time.Time
}

// readers is the number of connections that only read. Reads are rare compared to
// writes: lists, follows, exports.
const readers = 4

// DB is an open database.
type DB struct {
	// Write has exactly one connection; its transactions take the write lock
	// at once. Nil after OpenReadOnly.
	Write *sql.DB
	// Read cannot write.
	Read *sql.DB

	lock  *lockfile.Lock
	place *place
}

// Open opens a database to write and read, and makes or migrates it as needed.
// Before a migration it leaves a copy next to the file. See the Err… values for
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

// open is Open with the lock held.
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
		return nil, errors.Join(fmt.Errorf("opening %s: %w", o.Path, damaged(err)), db.Close())
	}
	if err := db.Read.Ping(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s to read: %w", o.Path, damaged(err)), db.Close())
	}
	if db.place, err = newPlace(o.Path); err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", o.Path, err), db.Close())
	}
	return db, nil
}

// OpenReadOnly opens an existing database for reading, whether or not another
// process writes to it. The error is fs.ErrNotExist if there is none. The
// database is not checked for damage as a whole.
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
		return nil, errors.Join(fmt.Errorf("opening %s: %w", o.Path, damaged(err)), db.Close())
	}
	return db, nil
}

// OpenDamaged opens a database that was set aside, to read what can still be
// read. It checks nothing: any query may fail half way, and what it returns
// may be wrong in any way.
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

// Fold folds all of the write-ahead log into the file and empties it, for what
// must not hang on the log: SQLite drops the end of a damaged one without a
// word. It waits for the disk, twice, and must not be called in a transaction.
func (db *DB) Fold() error {
	return db.place.whileTruncating(func() error {
		var busy, logged, folded int
		if err := db.Write.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &logged, &folded); err != nil {
			return fmt.Errorf("folding the log into the database: %w", err)
		}
		return nil
	})
}

// InPlace returns an error that wraps ErrGone when the database's files are not
// the ones that were opened any more. Ask before a commit that must last. It
// takes about a microsecond, and is safe for concurrent use.
func (db *DB) InPlace() error { return db.place.check() }

// Close closes all connections, the writing one last, so that it can fold the
// write-ahead log into the file.
func (db *DB) Close() error {
	err := db.Read.Close()
	if db.Write != nil {
		err = errors.Join(err, db.Write.Close())
	}
	if db.place != nil {
		err = errors.Join(err, db.place.close())
	}
	if db.lock != nil {
		err = errors.Join(err, db.lock.Free()) // last: until here the files are ours
	}
	if err != nil {
		return fmt.Errorf("closing database: %w", err)
	}
	return nil
}

// IsDamaged reports whether an error says that the database's file is damaged,
// at opening or later.
func IsDamaged(err error) bool { return errors.Is(err, ErrDamaged) || saysDamaged(err) }

// IsFull reports whether an error, of the database or of a file next to it, says
// that the disk is full, or the file as large as it may become. What is stored
// stays readable.
func IsFull(err error) bool {
	return saysFull(err) || errors.Is(err, syscall.EFBIG) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// damaged marks an error of SQLite that means damage.
func damaged(err error) error {
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
