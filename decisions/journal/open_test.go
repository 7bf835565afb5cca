//go:build cgo

package journal_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/sqlitedb"
)

func TestFollow(t *testing.T) {
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	for n := 1; n <= 600; n += 100 {
		var recs []*decisions.Record
		for i := range 100 {
			recs = append(recs, record(n+i))
		}
		mustAppend(t, j, recs...)
	}
	follow := func(r *journal.Reader, after int64, until int64) <-chan error {
		done := make(chan error, 1)
		go func() {
			want := after + 1
			for rec, err := range r.Follow(t.Context(), after) {
				if err != nil {
					done <- err
					return
				}
				if rec.Seq != want {
					done <- fmt.Errorf("have record %d, want %d", rec.Seq, want)
					return
				}
				if want++; rec.Seq == until {
					break
				}
			}
			done <- nil
		}()
		return done
	}
	other, err := journal.OpenReadOnly(o)
	if err != nil {
		t.Fatal(err)
	}
	waits := []<-chan error{follow(j.Reader, 0, 700), follow(j.Reader, 650, 700), follow(other, 590, 700)}
	for n := 601; n <= 700; n++ {
		mustAppend(t, j, record(n))
	}
	for i, w := range waits {
		if err := <-w; err != nil {
			t.Errorf("follower %d: %v", i, err)
		}
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		for _, err := range j.Follow(ctx, 700) {
			t.Errorf("nothing new, but have %v", err)
		}
		close(ended)
	}()
	cancel()
	<-ended
	idle := follow(j.Reader, 700, 701)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-idle; err != nil {
		t.Errorf("closing ended a follower with %v", err)
	}
}

func TestOpenDamagedSetsAside(t *testing.T) {
	o := journal.Options{Path: path(t), Now: func() time.Time { return noon }}
	j := open(t, o)
	for n := range 100 {
		mustAppend(t, j, record(n))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4096 {
		data[5*4096+i] = byte(i * 7)
	}
	if err := os.WriteFile(o.Path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(o.Path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the log should be folded in after closing: %v", err)
	}
	j = open(t, o)
	s := j.Status()
	kept, err := os.ReadFile(s.Damaged)
	if err != nil || string(kept) != string(data) {
		t.Fatalf("set aside as %q: %v", s.Damaged, err)
	}
	mustAppend(t, j, record(1))
}

func TestOpenNewerIsLeftAlone(t *testing.T) {
	o := journal.Options{Path: path(t)}
	if err := open(t, o).Close(); err != nil {
		t.Fatal(err)
	}
	setVersion(t, o.Path, 99)
	before, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(o); !errors.Is(err, sqlitedb.ErrNewer) {
		t.Errorf("have %v, want %v", err, sqlitedb.ErrNewer)
	}
	if _, err := journal.OpenReadOnly(o); !errors.Is(err, sqlitedb.ErrNewer) {
		t.Errorf("reading: have %v, want %v", err, sqlitedb.ErrNewer)
	}
	after, err := os.ReadFile(o.Path)
	if err != nil || string(before) != string(after) {
		t.Errorf("the file was changed (%v)", err)
	}
	if _, err := journal.Open(journal.Options{Path: o.Path, Durability: "none"}); err == nil {
		t.Error("an unknown durability was accepted")
	}
}

// hold takes the write lock of a database until the returned function is
// called.
func hold(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite3", path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

func setVersion(t *testing.T, path string, v int) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(fmt.Sprintf("PRAGMA user_version = %d", v)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
