//go:build cgo

package remember

import (
	"path/filepath"
	"testing"

	"github.com/permd/permd/internal/sqlitedb/sqlitedbtest"
)

// TestDatabaseSettings reads the settings of the connections that a memory really uses.
func TestDatabaseSettings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "remember.db")
	s, err := Open(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	sqlitedbtest.WantHardened(t, s.db.Write, s.db.Read, applicationID, true)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
