//go:build cgo && linux

package journal_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/verify"
	"github.com/permd/permd/internal/sqlitedb"
	"github.com/permd/permd/internal/testload"
)

// childMode is the environment variable that makes the test binary a child, which
// is killed or has no space left.
const childMode = "PERMD_JOURNAL_TEST_CHILD"

// parallelTests is how many parallel tests run at a time. They wait for disks and processes.
const parallelTests = 6

func TestMain(m *testing.M) {
	mode, path, ok := strings.Cut(os.Getenv(childMode), ":")
	switch {
	case !ok:
		testload.Parallel(parallelTests)
		goleak.VerifyTestMain(m)
	case mode == "killed":
		appendUntilKilled(path, 0)
	case mode == "limited":
		appendUntilKilled(path, 4<<20)
	case mode == "chained":
		chainUntilKilled(path)
	case mode == "full":
		appendUntilFull(path)
	}
}

// child starts this binary in a mode.
func child(t *testing.T, mode, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childMode+"="+mode+":"+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// appendUntilKilled appends from several goroutines and prints the id of each
// record after its append has returned.
func appendUntilKilled(path string, maxBytes int64) {
	j, err := journal.Open(journal.Options{Path: path, MaxBytes: maxBytes})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	var mu sync.Mutex
	for p := range 4 {
		go func() {
			for i := 0; ; i++ {
				rec := record(1)
				rec.Decision.ID = fmt.Sprintf("d%d-%d-%d", os.Getpid(), p, i)
				if maxBytes > 0 { // records of about 4 KiB that share nothing
					rec.Session.ID, rec.Decision.Reason = rec.Decision.ID, rec.Decision.ID+strings.Repeat("x", 4000)
				}
				if err := j.Append(context.Background(), rec); err != nil {
					fmt.Println("error:", err)
					os.Exit(1)
				}
				mu.Lock()
				// One write for each line, so that a kill leaves only whole lines.
				fmt.Fprintln(os.Stdout, rec.Decision.ID)
				mu.Unlock()
			}
		}()
	}
	select {}
}

// killedAfter runs a process that prints the id of each decision that is acknowledged,
// kills it after n of them, and returns those it has printed.
func killedAfter(t *testing.T, cmd *exec.Cmd, n int) (ids []string) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "error:") {
			t.Error(lines.Text())
			break
		}
		if ids = append(ids, lines.Text()); len(ids) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // killed
	return ids
}

func TestKilledLosesNothing(t *testing.T) {
	t.Parallel()
	o := journal.Options{Path: path(t)}
	acknowledged, before := 0, int64(0)
	rounds := 6
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		ids := killedAfter(t, child(t, "killed", o.Path), 100+round*150)
		acknowledged += len(ids)

		j, err := journal.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if s := j.Status(); s.Damaged != "" {
			t.Fatalf("set aside: %s", s.Damaged)
		}
		stored := map[string]bool{}
		for {
			recs, err := j.List(t.Context(), decisions.RecordFilter{After: before, Limit: 10_000})
			if err != nil {
				t.Fatal(err)
			}
			if len(recs) == 0 {
				break
			}
			for _, rec := range recs {
				stored[rec.Decision.ID], before = true, rec.Seq
			}
		}
		for _, id := range ids {
			if !stored[id] {
				t.Fatalf("round %d: acknowledged record %s is gone", round, id)
			}
		}
		last, err := j.Last(t.Context())
		n, cerr := j.Count(t.Context(), decisions.RecordFilter{})
		if err != nil || cerr != nil || n != last || int(n) < acknowledged {
			t.Fatalf("have %d records up to %d (%v, %v), %d were acknowledged", n, last, err, cerr, acknowledged)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// appendUntilFull appends until it reaches a limit of the file size, removes the
// limit and continues.
func appendUntilFull(path string) {
	// Otherwise the kernel would end the process instead of failing the write.
	signal.Ignore(syscall.SIGXFSZ)
	check := func(ok bool, what string, args ...any) {
		if !ok {
			fmt.Printf("error: "+what+"\n", args...)
			os.Exit(1)
		}
	}
	var limit syscall.Rlimit
	check(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit) == nil, "getrlimit")
	hard := limit.Max
	limit.Cur = 256 << 10
	check(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) == nil, "setrlimit")

	j, err := journal.Open(journal.Options{Path: path})
	check(err == nil, "opening: %v", err)
	// Append until the database and the spool are full. Once the database is full,
	// the segments are no longer swapped, so the next error is about the second
	// segment.
	stored, stalled, full := 0, false, false
	for stored < 10_000 && !full {
		if err = j.Append(context.Background(), record(stored)); err == nil {
			stored++
		} else {
			full = stalled
			stalled = j.Status().Stalled != ""
		}
	}
	check(err != nil && stored > 10, "no error after %d records", stored)
	check(sqlitedb.IsFull(err), "not known as a full disk: %v", err)
	check(!sqlitedb.IsDamaged(err), "taken for damage: %v", err)

	// A slightly shorter record than the refused one may still fit. All
	// acknowledged records must be there.
	var wg sync.WaitGroup
	var fit atomic.Int64
	for i := range 50 {
		wg.Go(func() {
			if j.Append(context.Background(), record(1_000_000+i)) == nil {
				fit.Add(1)
			}
		})
	}
	wg.Wait()
	check(fit.Load() < 10, "%d records stored on a full disk", fit.Load())
	stored += int(fit.Load())
	check(j.Status().Failing != "", "status does not say that it fails")
	n, err := j.Count(context.Background(), decisions.RecordFilter{})
	check(err == nil && int(n) == stored, "have %d records, %v; want %d", n, err, stored)

	limit.Cur = hard
	check(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) == nil, "setrlimit")
	rec := record(2_000_000)
	err = j.Append(context.Background(), rec)
	check(err == nil, "after space was made: %v", err)
	check(int(rec.Seq) == stored+1, "sequence number %d, want %d", rec.Seq, stored+1)
	check(j.Status().Failing == "", "status still fails: %s", j.Status().Failing)
	err = j.Close()
	check(err == nil, "closing: %v", err)
	fmt.Println("stored", stored+1)
}

func TestFullDisk(t *testing.T) {
	o := journal.Options{Path: path(t)}
	out, err := child(t, "full", o.Path).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var want int
	if _, err := fmt.Sscanf(string(out), "stored %d", &want); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	j := open(t, o)
	if s := j.Status(); s.Damaged != "" {
		t.Fatalf("set aside: %s", s.Damaged)
	}
	if n, err := j.Count(t.Context(), decisions.RecordFilter{}); err != nil || int(n) != want {
		t.Errorf("have %d records, %v; want %d", n, err, want)
	}
	v, err := j.Verify(t.Context(), verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, v)
}
