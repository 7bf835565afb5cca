//go:build !cgo

package sqlitedb

import (
	"database/sql/driver"
	"errors"
)

// newDriver fails: this program was built without SQLite.
func newDriver() (driver.Driver, error) {
	return nil, errors.New("built without cgo, which SQLite needs")
}

func saysDamaged(error) bool { return false }

func saysFull(error) bool { return false }
