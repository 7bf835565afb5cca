//go:build cgo && linux

package journal_test

import (
	"testing"

	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/testload"
)

// TestKilledWhileRemoving kills a journal that removes old decisions all the time.
// What was acknowledged is there, except for the oldest, which are gone without a
// gap; and nothing is left of what was removed.
func TestKilledWhileRemoving(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it kills a process that removes decisions; TestKilledLosesNothing is the quick one")
	}
	t.Parallel()
	o := journal.Options{Path: path(t), MaxBytes: 4 << 20}
	acknowledged := 0
	rounds := max(2, testload.Rounds(t, "PERMD_TEST_KILL_ROUNDS", 2, 2)) // the first removes little
	for round := range rounds {
		ids := killedAfter(t, child(t, "limited", o.Path), 3000+round%8*171)
		acknowledged += len(ids)

		j, err := journal.Open(journal.Options{Path: o.Path})
		if err != nil {
			t.Fatal(err)
		}
		if s := j.Status(); s.Damaged != "" {
			t.Fatalf("set aside: %s", s.Damaged)
		}
		seqs := journal.Consistent(t, j.Reader)
		last, err := j.Last(t.Context())
		if err != nil || int(last) < acknowledged || last-seqs[0] != int64(len(seqs)-1) {
			t.Fatalf("%d records from %d to %d, %v; %d were acknowledged", len(seqs), seqs[0], last, err, acknowledged)
		}
		if round > 0 && seqs[0] == 1 {
			t.Error("nothing was removed")
		}
		missing := 0
		for _, id := range ids {
			if _, err := j.Get(t.Context(), id); err != nil {
				missing++
			}
		}
		// Each has 4 KiB: those of the limit and the spool are there.
		if len(ids)-missing < 500 || round > 0 && int64(missing) > seqs[0]-1 {
			t.Errorf("round %d: %d of %d acknowledged records are gone, the first is %d", round, missing, len(ids), seqs[0])
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if acknowledged < 3000*rounds {
		t.Errorf("only %d records were acknowledged", acknowledged)
	}
}
