//go:build cgo

package journal_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/sqlitedb"
)

// TestAppendToGoneFile: SQLite continues to write to a deleted file, and all of it
// would be lost with the process.
func TestAppendToGoneFile(t *testing.T) {
	p := path(t)
	j := open(t, journal.Options{Path: p})
	mustAppend(t, j, record(1))
	if err := os.Rename(p, p+".x"); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(t.Context(), record(2)); !errors.Is(err, sqlitedb.ErrGone) {
		t.Errorf("appending without the file: %v, want ErrGone", err)
	}
	if j.Status().Failing == "" {
		t.Error("the status does not say so")
	}
	if err := os.Rename(p+".x", p); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, j, record(3))
	if s := j.Status(); s.Failing != "" || s.Last != 2 {
		t.Errorf("after the file was put back: %+v", s)
	}
}

// TestAppendToMovedFolder: what is appended to a folder that was renamed, or that is below
// one, is in no journal at the next start.
func TestAppendToMovedFolder(t *testing.T) {
	for name, of := range map[string]func(string) string{
		"the folder": filepath.Dir,
		"the one above": func(p string) string {
			return filepath.Dir(filepath.Dir(p))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := filepath.Join(t.TempDir(), "share", "permd", "decisions.db")
			j := open(t, journal.Options{Path: p})
			mustAppend(t, j, record(1))
			// Then the folder's change time can be told from that of a later change.
			eventually.Holds(t, "the folder has not changed for a while", func() bool {
				var st unix.Stat_t
				err := unix.Stat(filepath.Dir(p), &st)
				return err == nil && time.Since(time.Unix(st.Ctim.Unix())) > 100*time.Millisecond
			})
			mustAppend(t, j, record(2))
			folder := of(p)
			if err := os.Rename(folder, folder+".x"); err != nil {
				t.Fatal(err)
			}
			if name == "the one above" { // nothing below it has changed
				if err := j.Look(); !errors.Is(err, sqlitedb.ErrGone) {
					t.Errorf("looking: %v, want ErrGone", err)
				}
			}
			for range 2 {
				if err := j.Append(t.Context(), record(3)); !errors.Is(err, sqlitedb.ErrGone) {
					t.Errorf("appending: %v, want ErrGone", err)
				}
			}
			if j.Status().Failing == "" {
				t.Error("the status does not say so")
			}
			if err := os.Rename(folder+".x", folder); err != nil {
				t.Fatal(err)
			}
			mustAppend(t, j, record(3))
			if s := j.Status(); s.Failing != "" || s.Last != 3 {
				t.Errorf("after the folder was put back: %+v", s)
			}
		})
	}
}

// TestLargeRecords: a list of large records is shorter than its limit, and a caller
// that continues from it misses none.
func TestLargeRecords(t *testing.T) {
	const n = 12
	j := open(t, journal.Options{Path: path(t)})
	for i := range n {
		rec := record(i + 1)
		rec.Decision.Reason = strings.Repeat("x", 1<<20)
		mustAppend(t, j, rec)
	}
	newest, err := j.List(t.Context(), decisions.RecordFilter{Limit: n})
	if err != nil || len(newest) != 8 || newest[7].Seq != n {
		t.Errorf("newest: %d records, %v; want 8, the last with number %d", len(newest), err, n)
	}
	oldest, err := j.List(t.Context(), decisions.RecordFilter{Limit: n, After: 1})
	if err != nil || len(oldest) != 8 || oldest[0].Seq != 2 {
		t.Errorf("after the first: %d records, %v; want 8, the first with number 2", len(oldest), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	followed := 0
	for _, err := range j.Follow(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if followed++; followed == n {
			break
		}
	}
	if followed != n {
		t.Errorf("followed %d records, want %d", followed, n)
	}
}
