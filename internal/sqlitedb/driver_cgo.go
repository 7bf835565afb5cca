//go:build cgo

package sqlitedb

import (
	"database/sql/driver"
	"errors"
	"syscall"

	"github.com/mattn/go-sqlite3"
)

// minSQLite is the first version without the bug by which two connections that write and
// checkpoint the log at the same time can damage the database. The driver includes a
// newer version, unless it was built with the system's library.
const minSQLite = 3_051_003

func newDriver() (driver.Driver, error) {
	if _, n, _ := sqlite3.Version(); n < minSQLite {
		return nil, errOldSQLite
	}
	return &sqlite3.SQLiteDriver{}, nil
}

func saysDamaged(err error) bool {
	e, ok := errors.AsType[sqlite3.Error](err)
	return ok && (e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB || e.ExtendedCode == sqlite3.ErrIoErrShortRead)
}

// saysFull recognises both forms: SQLite's own code, and an input/output error caused by
// the system (such as a file size limit or a quota).
func saysFull(err error) bool {
	e, ok := errors.AsType[sqlite3.Error](err)
	if !ok {
		return false
	}
	switch e.SystemErrno {
	case syscall.EFBIG, syscall.ENOSPC, syscall.EDQUOT:
		return true
	}
	return e.Code == sqlite3.ErrFull
}
