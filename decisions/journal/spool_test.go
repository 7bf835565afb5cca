//go:build cgo && linux

package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/sqlitedb"
)

// left makes the journal of a process that was killed with n records in the spool
// only, one of them answered, and returns its path.
func left(t *testing.T, n int) string {
	t.Helper()
	from := path(t)
	j := open(t, journal.Options{Path: from})
	release := hold(t, from) // so that no record moves to the database
	defer release()
	for i := 1; i <= n; i++ {
		mustAppend(t, j, record(i))
	}
	if err := j.Answer(t.Context(), record(1).Decision.ID, said); err != nil {
		t.Fatal(err)
	}
	to := path(t)
	for _, side := range []string{"", "-wal", ".spool-0", ".spool-1"} {
		copyFile(t, from+side, to+side)
	}
	return to
}

var said = decisions.HumanAnswer{Time: noon.Add(time.Minute), Verdict: decisions.Deny, Choices: []string{"x"}}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// spooled returns the segment of a spool that has records.
func spooled(t *testing.T, path string) string {
	t.Helper()
	for _, n := range []string{"0", "1"} {
		if st, err := os.Stat(path + ".spool-" + n); err != nil {
			t.Fatal(err)
		} else if st.Size() > 4096 {
			return path + ".spool-" + n
		}
	}
	t.Fatal("the spool is empty")
	return ""
}

// wantRecords checks that a journal has the first n records in order, with the
// answer to the first.
func wantRecords(t *testing.T, r *journal.Reader, n int) {
	t.Helper()
	recs, err := r.List(t.Context(), decisions.RecordFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var have, want []string
	for i, rec := range recs {
		have = append(have, fmt.Sprint(rec.Seq, rec.Decision.ID))
		if i == 0 {
			if diff := cmp.Diff(&said, rec.Answer); diff != "" {
				t.Error(diff)
			}
		} else if rec.Answer != nil {
			t.Errorf("record %d has an answer", rec.Seq)
		}
	}
	for i := 1; i <= n; i++ {
		want = append(want, fmt.Sprint(i, record(i).Decision.ID))
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
	if last, err := r.Last(t.Context()); int(last) != n || err != nil {
		t.Errorf("the newest is %d, %v", last, err)
	}
	if count, err := r.Count(t.Context(), decisions.RecordFilter{Tool: "Bash"}); int(count) != n || err != nil {
		t.Errorf("counted %d, %v", count, err)
	}
	for _, i := range []int{1, n} {
		if rec, err := r.Get(t.Context(), record(i).Decision.ID); err != nil || int(rec.Seq) != i {
			t.Errorf("getting record %d: %v, %v", i, rec, err)
		}
	}
}

// TestSpoolIsReadAndReplayed: records that were only in the spool when the process
// ended can be read without a daemon, and are in the journal exactly once after it
// is opened again.
func TestSpoolIsReadAndReplayed(t *testing.T) {
	p := left(t, 12)
	r, err := journal.OpenReadOnly(journal.Options{Path: p})
	if err != nil {
		t.Fatal(err)
	}
	wantRecords(t, r, 12)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	spools := [][]byte{}
	for _, n := range []string{"0", "1"} {
		data, err := os.ReadFile(p + ".spool-" + n)
		if err != nil {
			t.Fatal(err)
		}
		spools = append(spools, data)
	}
	for range 2 {
		j := open(t, journal.Options{Path: p})
		wantRecords(t, j.Reader, 12)
		if s := j.Status(); s.Damaged != "" || s.Last != 12 {
			t.Errorf("status %+v", s)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		// Killed after the database had them and before the spool was emptied.
		for n, data := range spools {
			if err := os.WriteFile(fmt.Sprintf("%s.spool-%d", p, n), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	j := open(t, journal.Options{Path: p})
	next := record(13)
	mustAppend(t, j, next)
	wantRecords(t, j.Reader, 13)
}

// TestSpoolTornAnywhere truncates the spool at each byte of its last frames:
// complete frames are kept, and the incomplete one is dropped without counting as
// damage.
func TestSpoolTornAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it tears the spool at each byte")
	}
	t.Parallel()
	p := left(t, 3)
	name := spooled(t, p)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	fewest, most := 3, 0
	for size := len(whole); size >= 4096; size -= 61 {
		again := path(t)
		for _, side := range []string{"", "-wal", ".spool-0", ".spool-1"} {
			copyFile(t, p+side, again+side)
		}
		if err := os.Truncate(spooled(t, again), int64(size)); err != nil {
			t.Fatal(err)
		}
		j, err := journal.Open(journal.Options{Path: again})
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		rec := record(99)
		mustAppend(t, j, rec)
		n := int(rec.Seq) - 1
		fewest, most = min(fewest, n), max(most, n)
		if count, err := j.Count(t.Context(), decisions.RecordFilter{}); int(count) != n+1 || err != nil || j.Status().Damaged != "" {
			t.Errorf("%d bytes: %d records, newest %d, %v, %+v", size, count, rec.Seq, err, j.Status())
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if fewest != 0 || most != 3 {
		t.Errorf("between %d and %d records were kept, want all from 0 to 3", fewest, most)
	}
	// The process was killed while it wrote the first page.
	if err := os.Truncate(name, 7); err != nil {
		t.Fatal(err)
	}
	j := open(t, journal.Options{Path: p})
	mustAppend(t, j, record(1))
	if s := j.Status(); s.Damaged != "" {
		t.Errorf("set aside: %+v", s)
	}
}

// TestSpoolDamaged: a damaged spool is moved aside unchanged, and the records
// before the damage are in the journal.
func TestSpoolDamaged(t *testing.T) {
	for name, tc := range map[string]struct {
		damage func([]byte) []byte
		kept   int
	}{
		"a bit in the last record": {func(b []byte) []byte { b[bytes.LastIndex(b, []byte("/home/ada/src"))] ^= 1; return b }, 4},
		"a bit in the first":       {func(b []byte) []byte { b[bytes.Index(b, []byte("gemini"))] ^= 1; return b }, 0},
		"a length":                 {func(b []byte) []byte { b[4096+2] ^= 1; return b }, 0},
		"the head":                 {func(b []byte) []byte { b[0] ^= 1; return b }, 0},
		"noise behind":             {func(b []byte) []byte { return append(b, "noise noise noise"...) }, 5},
		"zeros behind":             {func(b []byte) []byte { return append(b, make([]byte, 64)...) }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			p := left(t, 5)
			name := spooled(t, p)
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			data = tc.damage(data)
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
			j := open(t, journal.Options{Path: p})
			s := j.Status()
			kept, err := os.ReadFile(s.Damaged)
			if err != nil || !bytes.Equal(kept, data) {
				t.Fatalf("set aside as %q: %v", s.Damaged, err)
			}
			if n, err := j.Count(t.Context(), decisions.RecordFilter{}); int(n) != tc.kept || err != nil {
				t.Errorf("%d records, %v; want %d", n, err, tc.kept)
			}
			rec := record(77)
			mustAppend(t, j, rec)
			if int(rec.Seq) != tc.kept+1 {
				t.Errorf("goes on with %d", rec.Seq)
			}
		})
	}
}

// TestSpoolOfAnotherDatabase: if the database has other records with the spool's
// numbers, the spool is moved aside, and none of its records counts as stored.
func TestSpoolOfAnotherDatabase(t *testing.T) {
	p := left(t, 5)
	other := path(t)
	j := open(t, journal.Options{Path: other})
	for n := 101; n <= 110; n++ {
		mustAppend(t, j, record(n))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"0", "1"} {
		copyFile(t, p+".spool-"+n, other+".spool-"+n)
	}
	j = open(t, journal.Options{Path: other})
	if s := j.Status(); !strings.Contains(s.Damaged, ".spool-") || s.Last != 10 {
		t.Errorf("status %+v", s)
	}
	if rec, err := j.Get(t.Context(), record(103).Decision.ID); err != nil || rec.Answer != nil {
		t.Errorf("have %+v, %v", rec, err)
	}
}

// TestSpoolRefused: a spool that is not a regular file of this user alone is not
// written to.
func TestSpoolRefused(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"others may write": func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o600), os.Chmod(p, 0o622)) },
		"a link":           func(p string) error { return os.Symlink("elsewhere", p) },
		"a folder":         func(p string) error { return os.Mkdir(p, 0o700) },
		"a newer version": func(p string) error {
			return os.WriteFile(p, append([]byte("permd spool\n\x00\x00\x00\x02"), bytes.Repeat([]byte{0}, 5000)...), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := path(t)
			if err := make(p + ".spool-1"); err != nil {
				t.Fatal(err)
			}
			j, err := journal.Open(journal.Options{Path: p})
			if err == nil {
				j.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), "spool") {
				t.Errorf("the error does not name it: %v", err)
			}
			if name == "a newer version" && !errors.Is(err, sqlitedb.ErrNewer) {
				t.Errorf("have %v", err)
			}
			if _, err := os.Lstat(filepath.Join(filepath.Dir(p), "elsewhere")); err == nil {
				t.Error("the link was followed")
			}
		})
	}
}

// TestSpoolTakenAway: no record counts as stored that was written to a deleted
// file, and those stored before are not lost.
func TestSpoolTakenAway(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"deleted": os.Remove,
		"cut":     func(p string) error { return os.Truncate(p, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			o := journal.Options{Path: path(t)}
			j := open(t, o)
			release := hold(t, o.Path)
			defer release()
			mustAppend(t, j, record(1))
			if err := take(spooled(t, o.Path)); err != nil {
				t.Fatal(err)
			}
			if err := j.Append(t.Context(), record(2)); !errors.Is(err, sqlitedb.ErrGone) {
				t.Fatalf("appending: %v, want ErrGone", err)
			}
			if j.Status().Failing == "" {
				t.Error("the status does not say so")
			}
			release()
			// The records in memory go to the database, and a new file is made.
			rec := record(3)
			eventually.Holds(t, "records are stored again", func() bool { return j.Append(t.Context(), rec) == nil })
			if rec.Seq != 2 {
				t.Fatalf("have number %d; status %+v", rec.Seq, j.Status())
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			j = open(t, o)
			for _, n := range []int{1, 3} {
				if _, err := j.Get(t.Context(), record(n).Decision.ID); err != nil {
					t.Errorf("record %d: %v", n, err)
				}
			}
		})
	}
}

// TestOneDaemon: a second daemon can open neither the database nor the spool.
func TestOneDaemon(t *testing.T) {
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	mustAppend(t, j, record(1))
	if second, err := journal.Open(o); err == nil {
		second.Close()
		t.Fatal("a second one was opened")
	}
	mustAppend(t, j, record(2))
	if n, err := j.Count(t.Context(), decisions.RecordFilter{}); n != 2 || err != nil {
		t.Errorf("have %d, %v", n, err)
	}
}
