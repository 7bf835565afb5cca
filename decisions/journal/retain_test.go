//go:build cgo

package journal

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal/body"
	"github.com/permd/permd/decisions/journal/upkeep"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/sqlitedb"
)

// TestRetentionBySize: a journal that is written to without end keeps the newest
// decisions within its limit.
func TestRetentionBySize(t *testing.T) {
	t.Parallel()
	const limit, n = 2 << 20, 8000
	j := openWith(t, Options{MaxBytes: limit})
	fill(t, j, 1, n, different)
	s := drained(t, j)
	seqs := consistent(t, j.Reader)
	first, last := seqs[0], seqs[len(seqs)-1]
	if last != n-1 || int(last-first) != len(seqs)-1 || len(seqs) < 500 {
		t.Errorf("%d records from %d to %d are left", len(seqs), first, last)
	}
	eventually.Holds(t, "retention is done", func() bool { s = j.Status().Retention; return s.Removed == first-1 })
	if !s.Since.Equal(time.Unix(first, 0)) || !s.RemovedUntil.Equal(time.Unix(first-1, 0)) {
		t.Errorf("%d to %d are left, and the status is %+v", first, last, s)
	}
	if info, err := os.Stat(j.path); err != nil || info.Size() > limit+(freePages+shrinkPages)*4096+1<<20 {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	if _, err := j.Get(t.Context(), different(1).Decision.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("the first record: %v, want %v", err, ErrNotFound)
	}
	// The sequence numbers go on after a restart.
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = openWith(t, Options{Path: j.path, MaxBytes: limit})
	rec := different(n)
	if err := j.Append(t.Context(), rec); err != nil || rec.Seq != n {
		t.Errorf("the next record has number %d, %v; want %d", rec.Seq, err, n)
	}
}

// TestRetentionByAge removes what is older than the limit, whatever its size.
func TestRetentionByAge(t *testing.T) {
	var clock testClock
	clock.at.Store(2000)
	j := openWith(t, Options{MaxAge: 1000 * time.Second, Now: clock.now, steadyFor: 1})
	fill(t, j, 1, 2000, different)
	drained(t, j)
	eventually.Holds(t, "retention is done", func() bool { j.mover.moveNow(); return j.Status().Retention.Removed == 999 })
	if seqs := consistent(t, j.Reader); seqs[0] != 1000 || len(seqs) != 1000 {
		t.Errorf("%d records from %d on are left", len(seqs), seqs[0])
	}
	// The newest are kept, however old: their numbers go on.
	clock.at.Store(1e6)
	eventually.Holds(t, "retention is done", func() bool { j.mover.moveNow(); return j.Status().Retention.Removed == 1999-keptNewest })
	if seqs := consistent(t, j.Reader); len(seqs) != keptNewest {
		t.Errorf("%d records are left", len(seqs))
	}
}

// TestClockJumpRemovesNothing: a clock that was set wrong empties no journal.
func TestClockJumpRemovesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := upkeep.Clock{After: time.Hour}
		if c.Steady(time.Now()) {
			t.Error("steady at once")
		}
		time.Sleep(time.Hour)
		if !c.Steady(time.Now()) {
			t.Error("never steady")
		}
		if c.Steady(time.Now().AddDate(20, 0, 0)) {
			t.Error("steady after a jump")
		}
		time.Sleep(time.Hour)
		if c.Steady(time.Now()) {
			t.Error("steady after a jump back")
		}
	})

	start := time.Now()
	var clock testClock
	clock.at.Store(start.Unix())
	j := openWith(t, Options{MaxAge: time.Hour, Now: clock.now})
	fill(t, j, 1, 1000, different)
	drained(t, j)
	clock.at.Store(start.AddDate(20, 0, 0).Unix())
	fill(t, j, 1000, 1100, different)
	drained(t, j)
	if s := j.Status().Retention; s.Removed != 0 {
		t.Errorf("%d decisions were removed", s.Removed)
	}
}

// TestRetentionKeepsWhatIsNeeded: decisions of choices that exist, and questions
// that a person may answer, are found and answered after all around them is gone;
// they go when they are not needed any more.
func TestRetentionKeepsWhatIsNeeded(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it writes thousands of decisions; TestRetentionBySize is the quick one")
	}
	const n = 6000
	var clock testClock
	clock.at.Store(n)
	var forgotten atomic.Bool
	o := Options{MaxBytes: 1 << 20, Now: clock.now, Referenced: func(id string) bool { return id == "choice" && !forgotten.Load() }}
	j := openWith(t, o)
	question := func(i int) *decisions.Record {
		rec := different(i)
		rec.Decision.Verdict = decisions.Ask
		rec.Session.ID = "flood"
		if i < 10 {
			rec.Session.ID = fmt.Sprint("q", i)
		}
		return rec
	}
	fill(t, j, 1, 500, question)
	id := func(i int) string { return question(i).Decision.ID }
	for i, choices := range map[int][]string{1: {"choice"}, 2: nil, 3: {"gone"}} {
		err := j.Answer(t.Context(), id(i), decisions.HumanAnswer{Time: clock.now().Add(-answeredAge), Verdict: decisions.Allow, Choices: choices})
		if err != nil {
			t.Fatal(err)
		}
	}
	fill(t, j, 500, n, different)
	drained(t, j)
	has := func(i int) bool {
		rec, err := j.Get(t.Context(), id(i))
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil && rec.Decision.Reason == question(i).Decision.Reason
	}
	for i, want := range map[int]bool{1: true, 2: false, 3: false, 4: true, 9: true, 10: true, 10 + maxSessionQuestions - 1: true, 10 + maxSessionQuestions: false, 600: false} {
		if has(i) != want {
			t.Errorf("record %d is there: %v, want %v", i, !want, want)
		}
	}
	if n, err := j.Count(t.Context(), decisions.RecordFilter{Verdict: decisions.Ask, Until: time.Unix(10, 0)}); err != nil || n != 7 {
		t.Errorf("%d of the first 9 are counted, %v; want 7", n, err)
	}
	consistent(t, j.Reader)
	if err := j.Answer(t.Context(), id(4), decisions.HumanAnswer{Time: clock.now().Add(time.Second), Verdict: decisions.Allow}); err != nil {
		t.Errorf("answering an old question: %v", err)
	}
	forgotten.Store(true)
	clock.at.Add(int64(sweepEvery / time.Second))
	drained(t, j)
	if !has(4) {
		t.Error("a question that was just answered is gone")
	}
	clock.at.Add(int64(sweepEvery / time.Second))
	eventually.Holds(t, "retention is done", func() bool { j.mover.moveNow(); return !has(1) && !has(4) })
	if !has(5) {
		t.Error("a question that is still open is gone")
	}
	clock.at.Add(int64(questionAge / time.Second))
	eventually.Holds(t, "retention is done", func() bool {
		clock.at.Add(int64(sweepEvery / time.Second)) // the sweep before may have passed them already, and go on
		j.mover.moveNow()
		return !has(5) && !has(10)
	})
	consistent(t, j.Reader)
}

// TestRetentionOfManyQuestions: open questions do not fill the journal.
func TestRetentionOfManyQuestions(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it writes thousands of decisions; TestRetentionBySize is the quick one")
	}
	const limit, n = 1 << 20, 4000
	var clock testClock
	clock.at.Store(n)
	j := openWith(t, Options{MaxBytes: limit, Now: clock.now})
	fill(t, j, 1, n, func(i int) *decisions.Record {
		rec := different(i)
		rec.Session.ID, rec.Decision.Verdict = fmt.Sprint("s", i), decisions.Ask
		return rec
	})
	s := drained(t, j)
	seqs := consistent(t, j.Reader)
	old := 0
	for _, seq := range seqs {
		if seq <= s.RemovedUntil.Unix() {
			old++
		}
	}
	if s.Bytes > limit || old < 50 || old > limit/4/1000 || len(seqs)-old < keptNewest {
		t.Errorf("%d open questions and %d newer decisions are left, %d bytes", old, len(seqs)-old, s.Bytes)
	}
}

// TestRetentionSharedBodies: repeated records share a body, in the database and
// after older ones were removed, and a kept one needs none.
func TestRetentionSharedBodies(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it writes 20,000 decisions; TestRetentionBySize is the quick one")
	}
	t.Parallel()
	repeated := func(n int) *decisions.Record {
		rec := different(7)
		rec.Time, rec.Decision.ID, rec.LatencyNS = time.Unix(int64(n), 0).UTC(), fmt.Sprintf("d%06d", n), int64(n)
		if n == 5 {
			rec.Decision.Verdict = decisions.Ask
		}
		return rec
	}
	var clock testClock
	clock.at.Store(20_000)
	j := openWith(t, Options{MaxBytes: 1 << 20, Now: clock.now})
	fill(t, j, 1, 20_000, repeated)
	drained(t, j)
	seqs := consistent(t, j.Reader)
	if len(seqs) < 4000 {
		t.Errorf("only %d repetitions fit into 1 MiB", len(seqs))
	}
	for _, seq := range append(seqs[:3:3], seqs[len(seqs)-1]) {
		rec, err := j.Get(t.Context(), fmt.Sprintf("d%06d", seq))
		if err != nil {
			t.Fatal(err)
		}
		want, _ := Encode(repeated(int(seq)))
		rec.Seq = 0
		if have, _ := Encode(rec); string(have) != string(want) {
			t.Errorf("have %s\nwant %s", have, want)
		}
	}
	if seqs[0] != 5 {
		t.Errorf("the oldest is %d, not the open question", seqs[0])
	}
	var bodies int
	if err := j.db.Read.QueryRow("SELECT count(*) FROM bodies").Scan(&bodies); err != nil || bodies > 2+len(seqs)/(body.SharedFor/2) {
		t.Errorf("%d bodies for %d records, %v", bodies, len(seqs), err)
	}
}

// TestRetentionOfSharedBodiesInUse: a body that is gone with its last decision is
// not used again.
func TestRetentionOfSharedBodiesInUse(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it fills a journal twelve times; TestRetentionBySize is the quick one")
	}
	t.Parallel()
	j := openWith(t, Options{MaxBytes: 64 << 10})
	for round := range 12 {
		fill(t, j, 1000*round, 1000*round+4, func(n int) *decisions.Record {
			rec := different(7)
			rec.Decision.ID = fmt.Sprintf("d%06d", n)
			return rec
		})
		fill(t, j, 1000*round+100, 1000*round+400, different)
		drained(t, j)
		consistent(t, j.Reader)
	}
}

// TestAppendDoesNotWaitForRetention stops retention in the middle of a transaction:
// decisions are stored and read all the same.
func TestAppendDoesNotWaitForRetention(t *testing.T) {
	entered, release := make(chan struct{}, 1), make(chan struct{})
	var once sync.Once
	j := openWith(t, Options{MaxBytes: 64 << 10, Referenced: func(string) bool {
		once.Do(func() { entered <- struct{}{}; <-release })
		return true
	}})
	defer close(release)
	rec := different(1)
	rec.Decision.Verdict = decisions.Ask
	if err := j.Append(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if err := j.Answer(t.Context(), rec.Decision.ID, decisions.HumanAnswer{Time: time.Now(), Verdict: decisions.Allow, Choices: []string{"c"}}); err != nil {
		t.Fatal(err)
	}
	fill(t, j, 2, 1000, different)
	<-entered
	for n := 1000; n < 2000; n++ {
		if err := j.Append(t.Context(), different(n)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := j.Count(t.Context(), decisions.RecordFilter{}); err != nil || n != 1999 {
		t.Errorf("counted %d, %v", n, err)
	}
}

// TestShrink: the file gets smaller when the limit does, in steps; that is not
// taken for a file that somebody has cut, which is still noticed.
func TestShrink(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it writes 16,000 decisions")
	}
	t.Parallel()
	j := openWith(t, Options{})
	fill(t, j, 1, 16_000, different)
	drained(t, j)
	size := func() int64 {
		info, err := os.Stat(j.path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	before := size()
	j = openWith(t, Options{Path: j.path, MaxBytes: 1 << 20})
	eventually.Holds(t, "retention is done", func() bool {
		fill(t, j, 16_000, 16_001, different)
		return size() <= 1<<20+(freePages+shrinkPages)*4096
	})
	if before < 16<<20 {
		t.Errorf("the file had only %d bytes", before)
	}
	drained(t, j)
	consistent(t, j.Reader)
	if s := j.Status(); s.Failing != "" || s.Stalled != "" || s.Retention.Failing != "" {
		t.Errorf("status %+v", s)
	}
	if err := j.db.InPlace(); err != nil {
		t.Error(err)
	}
	eventually.Holds(t, "retention is done", func() bool { j.mover.moveNow(); return j.Status().Spooled == 0 })
	if err := os.Truncate(j.path, size()-4096); err != nil {
		t.Fatal(err)
	}
	if err := j.db.InPlace(); !errors.Is(err, sqlitedb.ErrGone) {
		t.Errorf("a file that was cut: %v, want ErrGone", err)
	}
}

// TestQuestionsOfOneUser: one user with very many questions does not keep those of others
// from being kept, neither by number nor by size.
func TestQuestionsOfOneUser(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, size := range []int64{1 << 10, 1 << 20} {
		r := &retention{maxBytes: 256 << 20, questions: map[asker]int{}, keptOf: map[uint32]keptQuestions{}}
		ask := func(uid uint32, session string) bool {
			return r.needed(&candidate{verdict: string(decisions.Ask), time: now.UnixNano(), size: size, asker: asker{uid, session}}, now)
		}
		if !ask(1, "s0") {
			t.Fatal("a question is not kept")
		}
		kept := 1
		for n := range 3 * maxUserQuestions {
			if ask(1, fmt.Sprint("s", n)) {
				kept++
			}
		}
		if want := min(maxUserQuestions, int(r.maxBytes/4/size)); kept != want {
			t.Errorf("of %d bytes each: %d of one user are kept, want %d", size, kept, want)
		}
		if !ask(2, "s") {
			t.Errorf("of %d bytes each: none of another user is kept", size)
		}
		for n := range 3 * maxQuestions {
			ask(uint32(3+n%10), fmt.Sprint("s", n))
		}
		if r.kept > maxQuestions || r.keptBytes > r.maxBytes*3/8 {
			t.Errorf("of %d bytes each: %d with %d bytes are kept in all", size, r.kept, r.keptBytes)
		}
	}
}
