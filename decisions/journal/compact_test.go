//go:build cgo

package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/sqlitedb"
)

// TestLargeEarlierJournal: a journal of version 1 that is far beyond the limit is cut
// to it, and its file as well, which cannot shrink in steps.
func TestLargeEarlierJournal(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it migrates 12,000 decisions; TestListEarlierJournal is the quick one")
	}
	t.Parallel()
	const rows = 12_000
	dir := filepath.Join(filetest.MemoryDir(t), "permd")
	path := filepath.Join(dir, "decisions.db")
	db, err := sqlitedb.Open(sqlitedb.Options{
		Path: path, ApplicationID: applicationID, Migrations: migrations()[:1], Synchronous: sqlitedb.Normal,
	})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Write.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= rows; n++ {
		rec := different(n)
		data, err := rec.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(`INSERT INTO decisions (seq, format, id, time, uid, session, agent, tool, verdict, decided_by, latency, record)
			VALUES (?, 1, ?, ?, 0, ?, '', ?, ?, ?, 0, ?)`, n, rec.Decision.ID, rec.Time.UnixNano(), rec.Session.ID, rec.Tool,
			string(rec.Decision.Verdict), string(rec.Decision.By), data)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	const limit = 2 << 20
	j := openWith(t, Options{Path: path, MaxBytes: limit})
	eventually.Holds(t, "the file has shrunk", func() bool { return size() < limit+1<<20 }, func() string {
		return fmt.Sprintf("%d bytes of %d, status %+v", size(), before, j.Status())
	})
	seqs := consistent(t, j.Reader)
	if seqs[len(seqs)-1] != rows || len(seqs) < 500 {
		t.Errorf("%d records up to %d are left", len(seqs), seqs[len(seqs)-1])
	}
	fill(t, j, rows+1, rows+100, different)
	drained(t, j)
	if s := j.Status(); s.Failing != "" || s.Stalled != "" || s.Retention.Failing != "" {
		t.Errorf("status %+v", s)
	}
	if err := j.db.InPlace(); err != nil {
		t.Error(err)
	}
	c, err := j.db.Read.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	can, err := sqlitedb.CanShrink(t.Context(), c)
	if err != nil || !can {
		t.Errorf("it can shrink in steps now: %v, %v", can, err)
	}
}
