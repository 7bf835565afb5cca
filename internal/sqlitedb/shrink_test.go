//go:build cgo

package sqlitedb_test

import (
	"path/filepath"
	"testing"

	"github.com/permd/permd/internal/sqlitedb"
)

// TestShrinkSteps: a database that is emptied shrinks in steps, over many pages of
// every kind, and is never taken for one that somebody else truncated.
func TestShrinkSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it fills and shrinks a large database")
	}
	o := options(filepath.Join(folder(t), "test.db"))
	o.Shrinks = true
	db, err := sqlitedb.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := db.Write.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, statement := range []string{
		"CREATE TABLE filler(x BLOB)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 6000) INSERT INTO filler SELECT randomblob(3900) FROM n",
		"DELETE FROM filler",
	} {
		if _, err := c.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	before, err := sqlitedb.ReadUsage(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	stop, checked := make(chan struct{}), make(chan error)
	go func() { // as each append does
		for {
			select {
			case <-stop:
				checked <- nil
				return
			default:
			}
			if err := db.InPlace(); err != nil {
				<-stop
				checked <- err
				return
			}
		}
	}()
	u := before
	for step := range 1000 {
		if u.Free == 0 {
			break
		}
		if err := db.Shrink(t.Context(), c, int64(1+step%97)); err != nil {
			t.Fatal(err)
		}
		if u, err = sqlitedb.ReadUsage(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-checked; err != nil {
		t.Error(err)
	}
	if u.Free > 0 || u.Pages*10 > before.Pages {
		t.Errorf("from %+v to %+v", before, u)
	}
}
