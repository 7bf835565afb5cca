//go:build cgo

package journal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/chain"
	"github.com/permd/permd/decisions/journal/verify"
	"github.com/permd/permd/internal/testload"
)

// chainUntilKilled appends, answers and reports from several goroutines, within a limit
// of size, and prints the id of each decision, and each head of the chain.
func chainUntilKilled(path string) {
	var mu sync.Mutex
	print := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(os.Stdout, line) // in one write, so that a kill leaves only whole lines
	}
	try := func(err error) {
		if err != nil {
			print("error: " + err.Error())
			os.Exit(1)
		}
	}
	j, err := journal.Open(journal.Options{
		Path: path, MaxBytes: 2 << 20,
		Referenced: func(id string) bool { return strings.HasSuffix(id, "000") },
		Head: func(h chain.Head) {
			text, err := json.Marshal(h)
			try(err)
			print("head " + string(text))
		},
	})
	try(err)
	for p := range 4 {
		go func() {
			for i := 0; ; i++ {
				rec := record(1)
				rec.Decision.ID = fmt.Sprintf("d%d-%d-%d", os.Getpid(), p, i)
				rec.Decision.Reason = strings.Repeat("x", i%1000)
				try(j.Append(context.Background(), rec))
				id := rec.Decision.ID
				switch i % 4 {
				case 1:
					try(j.Ended(context.Background(), id, decisions.Ending{Time: noon, As: "ran"}))
				case 2:
					try(j.Answer(context.Background(), id, decisions.HumanAnswer{Time: noon, Verdict: decisions.Allow, Choices: []string{id}}))
				case 3:
					try(j.Ran(context.Background(), id, noon.Add(time.Hour)))
				}
				print(id)
			}
		}()
	}
	select {}
}

// TestKilledChain kills a journal that is written, answered and removed from: its chain is
// whole before it is opened again and after, and has every head that was told.
func TestKilledChain(t *testing.T) {
	t.Parallel()
	o := journal.Options{Path: path(t)}
	rounds := testload.Rounds(t, "PERMD_TEST_KILL_ROUNDS", 4, 8)
	if testing.Short() {
		rounds = 1
	}
	var heads []chain.Head
	removed := false
	for round := range rounds {
		lines := killedAfter(t, child(t, "chained", o.Path), 500+round%8*377)
		for _, line := range lines {
			if text, ok := strings.CutPrefix(line, "head "); ok {
				var h chain.Head
				if err := json.Unmarshal([]byte(text), &h); err != nil {
					t.Fatal(err)
				}
				heads = append(heads, h)
			}
		}
		known := verify.Options{Known: slices.Clone(heads)}
		before := verifyFile(t, o.Path, known)
		clean(t, before)
		j, err := journal.Open(journal.Options{Path: o.Path, MaxBytes: 2 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if s := j.Status(); s.Damaged != "" {
			t.Fatalf("set aside: %s", s.Damaged)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		after := verifyFile(t, o.Path, known)
		clean(t, after)
		if after.Waiting != 0 || after.Head.Entries < before.Head.Entries || after.Head.Seq != before.Head.Seq+int64(before.Waiting) {
			t.Errorf("round %d: before %+v, after %+v", round, before, after)
		}
		if n := after.Heads; n.Found+n.Removed != len(heads) || n.Other > 0 {
			t.Errorf("round %d: %+v of %d heads", round, n, len(heads))
		}
		removed = removed || after.Head.Seq > after.Decisions
	}
	if rounds > 2 && (len(heads) < rounds || !removed) {
		t.Errorf("%d heads; removed %v", len(heads), removed)
	}
}
