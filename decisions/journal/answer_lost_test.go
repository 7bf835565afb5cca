//go:build cgo && linux

package journal_test

import (
	"os"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/eventually"
)

// TestAnswerInASegmentOfItsOwn: a person answers while the database cannot store the spool's
// records, and the process is killed: all earlier records are there, and so is the
// answer.
func TestAnswerInASegmentOfItsOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits out the database's busy timeout")
	}
	t.Parallel()
	from := path(t)
	j := open(t, journal.Options{Path: from})
	release := hold(t, from)
	defer release()
	const n = 21
	for i := 1; i <= n; i++ {
		mustAppend(t, j, record(i))
	}
	// The mover takes the segment with the records and cannot store it. Later
	// records go into the other segment.
	eventually.Holds(t, "the database is found to be held", func() bool { return j.Status().Stalled != "" })
	if err := j.Answer(t.Context(), record(n).Decision.ID, said); err != nil {
		t.Fatal(err)
	}
	to := path(t)
	for _, side := range []string{"", "-wal", ".spool-0", ".spool-1"} {
		copyFile(t, from+side, to+side)
	}
	for _, side := range []string{".spool-0", ".spool-1"} {
		if st, err := os.Stat(to + side); err != nil || st.Size() == 0 {
			t.Fatalf("%s: %v", side, err)
		}
	}
	k := open(t, journal.Options{Path: to})
	eventually.Holds(t, "the spool is moved to the database", func() bool { return k.Status().Spooled == 0 })
	if got, err := k.Count(t.Context(), decisions.RecordFilter{}); err != nil || got != n {
		t.Errorf("after the kill: %d of %d records (%v)", got, n, err)
	}
	if got, err := k.Get(t.Context(), record(n).Decision.ID); err != nil || got.Answer == nil {
		t.Errorf("the answer is lost: %+v (%v)", got, err)
	}
}
