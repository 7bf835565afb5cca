//go:build cgo

package journal

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
)

// trap is a statement that lets a test in and then panics.
type trap struct {
	driver.Stmt
	entered chan<- struct{}
	release <-chan struct{}
}

func (s trap) ExecContext(context.Context, []driver.NamedValue) (driver.Result, error) {
	s.entered <- struct{}{}
	<-s.release
	panic("trap")
}

// TestPanicLeavesNobodyWaiting has one append panic while another waits.
func TestPanicLeavesNobodyWaiting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "permd")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	j, err := Open(Options{Path: filepath.Join(dir, "decisions.db")})
	if err != nil {
		t.Fatal(err)
	}
	appendOne := func(id string) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = errPanicked
			}
		}()
		return j.Append(t.Context(), &decisions.Record{Time: time.Unix(1, 0), Decision: decisions.Decision{ID: id}})
	}
	entered, release := make(chan struct{}), make(chan struct{})
	j.writer.insert = trap{Stmt: j.writer.insert, entered: entered, release: release}
	results := make(chan error)
	go func() { results <- appendOne("a") }()
	<-entered
	go func() { results <- appendOne("b") }()
	for j.Status().Waiting == 0 {
		time.Sleep(time.Millisecond)
	}
	close(release)
	var panicked, stored int
	for range 2 {
		switch err := <-results; {
		case errors.Is(err, errPanicked):
			panicked++
		case err == nil:
			stored++
		default:
			t.Error(err)
		}
	}
	if panicked != 1 || stored != 1 {
		t.Errorf("%d panicked, %d stored; want 1 and 1, on a new connection", panicked, stored)
	}
	if err := appendOne("c"); err != nil {
		t.Error(err)
	}
	if n, err := j.Count(t.Context(), Filter{}); n != 2 || err != nil {
		t.Errorf("have %d records, %v; want 2", n, err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
