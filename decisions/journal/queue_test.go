//go:build cgo

package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/filetest"
)

func openInside(t *testing.T) *Journal {
	t.Helper()
	return openWith(t, Options{})
}

// openWith opens a journal, in a new folder unless the options name one.
func openWith(t *testing.T, o Options) *Journal {
	t.Helper()
	if o.Path == "" {
		dir := filepath.Join(filetest.MemoryDir(t), "permd")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		o.Path = filepath.Join(dir, "decisions.db")
	}
	j, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func numberedRecord(n int) *decisions.Record {
	return &decisions.Record{Time: time.Unix(int64(n), 0), Decision: decisions.Decision{ID: fmt.Sprintf("d%06d", n)}}
}

// atNextWrite makes the next write call f first.
func (j *Journal) atNextWrite(f func()) {
	look := j.spool.dirState.database
	j.spool.dirState.database = func() error {
		j.spool.dirState.database = look
		f()
		return look()
	}
	j.spool.dirState.valid = false // otherwise the hook would not be called
}

// TestPrompt: an append is expected to end at once only after one that did, while nobody
// writes, and there is room.
func TestPrompt(t *testing.T) {
	j := openInside(t)
	if j.Prompt() {
		t.Error("prompt before anything was written")
	}
	n := 0
	becomesPrompt := func() {
		t.Helper()
		eventually.Holds(t, "a write is short", func() bool {
			n++
			if err := j.Append(t.Context(), numberedRecord(n)); err != nil {
				t.Fatal(err)
			}
			return j.Prompt()
		})
	}
	becomesPrompt()
	prompt := true
	j.atNextWrite(func() { prompt = j.Prompt() })
	if err := j.Append(t.Context(), numberedRecord(n+1)); err != nil || prompt {
		t.Errorf("%v; prompt while it writes: %v", err, prompt)
	}
	n++
	becomesPrompt()
	j.atNextWrite(func() {
		for start := time.Now(); time.Since(start) < promptWrite; {
			runtime.Gosched()
		}
	})
	if err := j.Append(t.Context(), numberedRecord(n+1)); err != nil || j.Prompt() {
		t.Errorf("%v; prompt after a long write: %v", err, j.Prompt())
	}
	n++
	becomesPrompt()
	room := j.maxWaiting
	j.maxWaiting = 0
	if j.Prompt() {
		t.Error("prompt without room")
	}
	j.maxWaiting = room
}

// TestAppendEndsWithItsContext: an append that waits for another's write fails when
// its context ends, and its record is not stored.
func TestAppendEndsWithItsContext(t *testing.T) {
	j := openInside(t)
	entered, release := make(chan struct{}), make(chan struct{})
	j.atNextWrite(func() {
		entered <- struct{}{}
		<-release
	})
	var wg sync.WaitGroup
	first := numberedRecord(1)
	wg.Go(func() {
		if err := j.Append(t.Context(), first); err != nil {
			t.Error(err)
		}
	})
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	const calls = 50
	for i := range calls {
		wg.Go(func() {
			if err := j.Append(ctx, numberedRecord(100+i)); !errors.Is(err, context.Canceled) {
				t.Errorf("have %v, want %v", err, context.Canceled)
			}
		})
	}
	waiting := func() int {
		j.mu.Lock()
		defer j.mu.Unlock()
		return len(j.queue)
	}
	eventually.Holds(t, "what the other has to do first", func() bool { return waiting() == calls })
	cancel()
	eventually.Holds(t, "what the other has to do first", func() bool { return waiting() == 0 && len(j.slots) == 1 })
	close(release)
	wg.Wait()
	next := numberedRecord(2)
	if err := j.Append(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if first.Seq != 1 || next.Seq != 2 {
		t.Errorf("have sequence numbers %d and %d: what was given up is stored", first.Seq, next.Seq)
	}
}

// TestFullSpool: above the bound Append waits for the mover, and fails at once if
// the database cannot be written.
func TestFullSpool(t *testing.T) {
	t.Parallel()
	j := openInside(t)
	var locked atomic.Bool
	inPlace := j.mover.writer.inPlace
	entered := make(chan struct{}, 1000)
	hold := make(chan struct{})
	// The mover blocks where it checks the database, and then fails there.
	j.mover.writer.inPlace = func() error {
		entered <- struct{}{}
		<-hold
		if locked.Load() {
			return errors.New("locked")
		}
		return inPlace()
	}
	j.maxWaiting = 1000
	n := 0
	for j.spool.waiting.Load() < j.maxWaiting {
		n++
		if err := j.Append(t.Context(), numberedRecord(n)); err != nil {
			t.Fatal(err)
		}
	}
	locked.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	given, full := make(chan error), make(chan error)
	go func() { given <- j.Append(ctx, numberedRecord(n+1)) }()
	go func() { full <- j.Append(t.Context(), numberedRecord(n+2)) }()
	<-entered
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up: %v", err)
	}
	close(hold)
	if err := <-full; err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("on a full spool: %v", err)
	}
	if s := j.Status(); s.Stalled == "" {
		t.Errorf("the status does not say so: %+v", s)
	}
	if have, err := j.Count(t.Context(), decisions.RecordFilter{}); int(have) != n || err != nil {
		t.Errorf("have %d, %v; want %d", have, err, n)
	}
	locked.Store(false)
	eventually.Holds(t, "what the other has to do first", func() bool { return j.Append(t.Context(), numberedRecord(n+3)) == nil })
	if s := j.Status(); s.Stalled != "" {
		t.Errorf("still stalled: %+v", s)
	}
}

// TestPanicLeavesNobodyWaiting: one append panics while another waits.
func TestPanicLeavesNobodyWaiting(t *testing.T) {
	j := openInside(t)
	appendOne := func(id string) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = errPanicked
			}
		}()
		return j.Append(t.Context(), &decisions.Record{Time: time.Unix(1, 0), Decision: decisions.Decision{ID: id}})
	}
	entered, release := make(chan struct{}), make(chan struct{})
	j.atNextWrite(func() {
		entered <- struct{}{}
		<-release
		panic("trap")
	})
	results := make(chan error)
	go func() { results <- appendOne("a") }()
	<-entered
	go func() { results <- appendOne("b") }()
	eventually.Holds(t, "the second append waits", func() bool { return j.Status().Waiting > 0 })
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
		t.Errorf("%d panicked, %d stored; want 1 and 1", panicked, stored)
	}
	if err := appendOne("c"); err != nil {
		t.Error(err)
	}
	if n, err := j.Count(t.Context(), decisions.RecordFilter{}); n != 2 || err != nil {
		t.Errorf("have %d records, %v; want 2", n, err)
	}
}
