package remember

import (
	"errors"

	"github.com/permd/permd/internal/sqlitedb"
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
	return db.Close()
}
