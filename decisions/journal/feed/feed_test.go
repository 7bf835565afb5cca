//go:build cgo

package feed

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/testload"
)

func open(t *testing.T, o journal.Options) *journal.Journal {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "d", "decisions.db")
	}
	j, err := journal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func record(n int, text string) *decisions.Record {
	return &decisions.Record{Time: time.Unix(int64(n), 0).UTC(), Decision: decisions.Decision{
		ID: fmt.Sprintf("%08d-%s", n, text[:min(len(text), 4)]), Verdict: decisions.Ask, Reason: text,
	}}
}

// fill appends records with these numbers, both included, and waits until the database has them.
func fill(t *testing.T, j *journal.Journal, from, to int, text func(int) string) {
	t.Helper()
	for n := from; n <= to; n++ {
		if err := j.Append(t.Context(), record(n, text(n))); err != nil {
			t.Fatal(err)
		}
	}
	moved(t, j)
}

func moved(t *testing.T, j *journal.Journal) {
	t.Helper()
	eventually.Holds(t, "the database has all", func() bool { s := j.Status(); return s.Spooled == 0 && s.Head.Seq == s.Last })
}

func plain(int) string { return "text" }

// rest reads all that follows a position: a word for each entry.
func rest(t *testing.T, j *journal.Journal, at Position) (words []string, end Position, lost int64) {
	t.Helper()
	for {
		p, err := Read(t.Context(), j.Reader, at)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Entries {
			words = append(words, fmt.Sprintf("%d%s", e.Record.Seq, e.Added))
		}
		if p.Lost != nil {
			lost += p.Lost.Count
		}
		if p.Replaced {
			words = append([]string{"replaced"}, words...)
		}
		if p.Next == at {
			return words, at, lost
		}
		at = p.Next
	}
}

func want(t *testing.T, got []string, text string) {
	t.Helper()
	if strings.Join(got, " ") != text {
		t.Errorf("read %q, want %q", strings.Join(got, " "), text)
	}
}

// TestAdded: what is added to a decision comes as an entry of its own, unless the decision comes
// with it; also after a restart.
func TestAdded(t *testing.T) {
	j := open(t, journal.Options{})
	fill(t, j, 1, 3, plain)
	id := func(n int) string { return record(n, "text").Decision.ID }
	answer := func(n int) {
		if err := j.Answer(t.Context(), id(n), decisions.HumanAnswer{Time: time.Unix(9, 0), Verdict: decisions.Allow}); err != nil {
			t.Fatal(err)
		}
	}
	answer(1)
	moved(t, j)
	eventually.Holds(t, "the database has the answer", func() bool { return j.Status().Head.Entries == 4 })
	got, at, _ := rest(t, j, Position{})
	want(t, got, "1 2 3")
	answer(2)
	fill(t, j, 4, 4, plain)
	if err := j.Ran(t.Context(), id(2), time.Unix(9, 0)); err != nil {
		t.Fatal(err)
	}
	answer(4)
	if err := j.Ended(t.Context(), id(3), decisions.Ending{Time: time.Unix(9, 0), As: "ran"}); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the database has what was added", func() bool { return j.Status().Head.Entries == 9 })
	got, at, _ = rest(t, j, at)
	want(t, got, "4 2ran 3ended")
	got, again, _ := rest(t, j, at)
	want(t, got, "")
	if again != at {
		t.Errorf("%+v, was %+v", again, at)
	}
}

// TestPages: at whatever page a reader stops, it reads each decision once and in order, and each
// addition after its decision.
func TestPages(t *testing.T) {
	j := open(t, journal.Options{})
	r := rand.New(rand.NewPCG(testload.Seed(t), 1))
	var at Position
	read, answered, told := map[int64]bool{}, map[int64]bool{}, map[int64]bool{}
	have := 0
	for range 4 {
		n := 1 + r.IntN(2*limit)
		fill(t, j, have+1, have+n, plain)
		have += n
		for range r.IntN(2 * limit) {
			seq := int64(1 + r.IntN(have))
			if !answered[seq] {
				answered[seq] = true
				if err := j.Answer(t.Context(), record(int(seq), "text").Decision.ID, decisions.HumanAnswer{Time: time.Unix(9, 0), Verdict: decisions.Deny}); err != nil {
					t.Fatal(err)
				}
			}
		}
		eventually.Holds(t, "the database has the answers", func() bool { return j.Status().Head.Entries == int64(have+len(answered)) })
		for {
			p, err := Read(t.Context(), j.Reader, at)
			if err != nil {
				t.Fatal(err)
			}
			if p.Next == at {
				break
			}
			for _, e := range p.Entries {
				switch seq := e.Record.Seq; {
				case e.Added == "" && (read[seq] || seq > 1 && !read[seq-1]):
					t.Fatalf("decision %d comes again, or too early", seq)
				case e.Added != "" && !read[seq]:
					t.Fatalf("what was added to decision %d comes before it", seq)
				}
				read[e.Record.Seq] = true
				if e.Record.Answer != nil {
					told[e.Record.Seq] = true
				}
			}
			at = p.Next
		}
	}
	if !maps.Equal(told, answered) {
		t.Errorf("%d of %d answers were read", len(told), len(answered))
	}
	if len(read) != have || at.Seq != int64(have) {
		t.Errorf("%d of %d decisions, and the end is %+v", len(read), have, at)
	}
}

// TestLost: decisions that retention removes before they are read are counted; those that were
// gone when the journal was first read are not.
func TestLost(t *testing.T) {
	const most = 1 << 20
	j := open(t, journal.Options{MaxBytes: most, Referenced: func(string) bool { return false }})
	large := func(n int) string { return fmt.Sprintf("%04d", n) + strings.Repeat(fmt.Sprint(n), 200) }
	deny := func(from, to int) {
		for n := from; n <= to; n++ {
			rec := record(n, large(n))
			rec.Decision.Verdict = decisions.Deny
			if err := j.Append(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
		}
		moved(t, j)
	}
	deny(1, 3000)
	eventually.Holds(t, "some are removed", func() bool { return j.Status().Retention.Removed > 0 })
	first, err := Read(t.Context(), j.Reader, Position{})
	if err != nil || first.Lost != nil || first.Start.Base == 0 || len(first.Entries) == 0 {
		t.Fatalf("%+v, %v", first.Lost, err)
	}
	at := first.Next
	deny(3001, 6000)
	gone := func() int64 { return j.Status().Retention.Removed }
	eventually.Holds(t, "what was read is removed, and more", func() bool { return gone() > at.Seq+100 })
	var removed int64
	eventually.True(func() bool { before := removed; removed = gone(); return before == removed })
	got, end, lost := rest(t, j, at)
	if int64(len(got))+lost != 6000-at.Seq || lost < 100 || end.Seq != 6000 {
		t.Errorf("%d read and %d lost behind %d, the end is %+v", len(got), lost, at.Seq, end)
	}
	if n, since, err := Waiting(t.Context(), j.Reader, Position{Seq: 5990}); n != 10 || since.Unix() != 5991 || err != nil {
		t.Errorf("%d wait since %s, %v", n, since, err)
	}
}

// TestReplaced: another journal, or an earlier copy that goes on with the same numbers, is read
// from its beginning.
func TestReplaced(t *testing.T) {
	j := open(t, journal.Options{})
	fill(t, j, 1, 5, plain)
	got, at, _ := rest(t, j, Position{})
	want(t, got, "1 2 3 4 5")
	for name, from := range map[string]Position{
		"another chain": {Chain: "00", Seq: 3, ID: at.ID}, "behind the end": {Chain: at.Chain, Seq: 6}, "another decision": {Chain: at.Chain, Seq: 3, ID: "x"},
	} {
		got, end, _ := rest(t, j, from)
		if want := strings.Fields("replaced 1 2 3 4 5"); !slices.Equal(got, want) || end != at {
			t.Errorf("%s: %v, %+v", name, got, end)
		}
	}
}
