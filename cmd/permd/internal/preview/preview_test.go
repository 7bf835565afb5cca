package preview

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
)

// TestNewestIsLate: one page is read where the time is over before.
func TestNewestIsLate(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(journal.Options{Path: filepath.Join(data, "decisions.db"), Durability: journal.Process})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for n := range onePage + 5 {
		rec := &decisions.Record{Time: time.Now(), Protocol: "permd", Decision: decisions.Decision{ID: fmt.Sprint(n), Verdict: decisions.Ask}}
		if err := j.Append(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	c := New(j.Reader, nil, "")
	c.end = time.Now().Add(-time.Hour)
	list, from, err := c.newest(t.Context(), decisions.RecordFilter{}, func(*decisions.Record) bool { return true })
	if err != nil || len(list) != onePage || from != list[onePage-1].Seq {
		t.Errorf("%d requests are read, all from %d: %v", len(list), from, err)
	}
}

// TestCountIsCancelled: a count whose context ends does not wait for a disk that hangs, nor for
// another count that does, and this one goes on after some time.
func TestCountIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(nil, nil, os.DevNull) // which cannot be read
		flushed, hanging := make(chan time.Duration, 1), make(chan struct{})
		c.Flush = func(ctx context.Context) {
			begun := time.Now()
			close(hanging)
			<-ctx.Done()
			flushed <- time.Since(begun)
		}
		var err error
		go func() { _, err = c.Count(t.Context()) }()
		<-hanging
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := c.Count(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if took := <-flushed; took != flushWithin {
			t.Errorf("it is waited for %v", took)
		}
		synctest.Wait()
		if err == nil || len(c.counting) != 0 {
			t.Errorf("%d counts are left: %v", len(c.counting), err)
		}
	})
}
