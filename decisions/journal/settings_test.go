//go:build cgo

package journal

import (
	"testing"

	"github.com/permd/permd/internal/sqlitedb/sqlitedbtest"
)

// TestDatabaseSettings reads the settings of the connections that a journal really uses.
func TestDatabaseSettings(t *testing.T) {
	j := openInside(t)
	sqlitedbtest.WantHardened(t, j.mover.writer.conn, j.db.Read, applicationID, false)
}
