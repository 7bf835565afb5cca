//go:build cgo

package journal_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/internal/testload"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/author"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/chain"
	"github.com/permd/permd/decisions/journal/verify"
)

// chained appends records of several kinds and adds answers and reports to some of them.
func chained(t testing.TB, j *journal.Journal, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		rec := record(n)
		switch n % 4 {
		case 1:
			rec.Decision.Verdict, rec.Decision.By = decisions.Ask, decisions.ByDefault
		case 2:
			rec.Tool, rec.Decision.Reason = "Read", fmt.Sprint("reason ", n)
		case 3:
			rec.Session.ID = fmt.Sprint("s\x00", n%3)
		}
		if err := j.Append(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		id, at := rec.Decision.ID, rec.Time.Add(time.Second)
		var err error
		switch n % 5 {
		case 0:
			err = j.Ended(t.Context(), id, decisions.Ending{Time: at, As: "failed"})
		case 1:
			err = j.Answer(t.Context(), id, decisions.HumanAnswer{Time: at, Verdict: decisions.Allow, Choices: []string{fmt.Sprint("c", n)}})
		case 2:
			err = j.Ran(t.Context(), id, at)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n%16 == 0 { // once more, which adds nothing
			if err := j.Ended(t.Context(), id, decisions.Ending{Time: at, As: "ran"}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// verifyFile verifies a journal that is closed.
func verifyFile(t testing.TB, path string, o verify.Options) *verify.Result {
	t.Helper()
	r, err := journal.OpenReadOnly(journal.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	v, err := r.Verify(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func clean(t testing.TB, v *verify.Result) {
	t.Helper()
	if len(v.Faults) > 0 {
		t.Fatalf("%d faults, the first is %+v", len(v.Faults), v.Faults[0])
	}
}

// TestVerify: a journal is verified while it is written, when it is closed, and when it
// was opened again.
func TestVerify(t *testing.T) {
	var heads []chain.Head
	o := journal.Options{Path: path(t), Head: func(h chain.Head) { heads = append(heads, h) }}
	j, err := journal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	chained(t, j, 1, 60)
	v, err := j.Verify(t.Context(), verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, v)
	if n := v.Decisions + int64(v.Waiting); n != 59 {
		t.Errorf("%d decisions are verified and %d wait, of 59", v.Decisions, v.Waiting)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	v = verifyFile(t, o.Path, verify.Options{Known: heads})
	clean(t, v)
	if v.Decisions != 59 || v.Added != 35+3 || v.Waiting != 0 || v.Unchained != 0 || !v.Since.Equal(record(1).Time) {
		t.Errorf("%+v", v)
	}
	if len(heads) == 0 || heads[len(heads)-1].Hash != v.Head.Hash || v.Heads.Found != len(heads) {
		t.Errorf("the heads %+v, of which %d were found; want %+v as the last", heads, v.Heads.Found, v.Head)
	}

	if j, err = journal.Open(o); err != nil {
		t.Fatal(err)
	}
	chained(t, j, 60, 90)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	v = verifyFile(t, o.Path, verify.Options{Known: heads, Hash: heads[0].Hash})
	clean(t, v)
	if v.Decisions != 89 {
		t.Errorf("%d decisions", v.Decisions)
	}
}

// secondHash is the hash of an entry by the comment of chain.go, written a second time.
func secondHash(id, prev []byte, kind byte, seq, at int64, parts ...any) []byte {
	inner := sha256.New()
	put := func(n uint64) {
		b := make([]byte, 8)
		binary.BigEndian.PutUint64(b, n)
		inner.Write(b)
	}
	inner.Write([]byte{kind})
	put(uint64(seq))
	put(uint64(at))
	for _, p := range parts {
		switch p := p.(type) {
		case int64:
			put(uint64(p))
		case string:
			b := make([]byte, 4)
			binary.BigEndian.PutUint32(b, uint32(len(p)))
			inner.Write(append(b, p...))
		case []byte:
			inner.Write(p)
		}
	}
	outer := sha256.New()
	outer.Write(id)
	outer.Write(prev)
	outer.Write(inner.Sum(nil))
	return outer.Sum(nil)
}

// TestChainOracle compares the stored hashes with those of a second implementation, which
// knows what was appended and nothing of how it is stored.
func TestChainOracle(t *testing.T) {
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	seed := testload.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	type step struct {
		kind byte
		seq  int64
		at   time.Time
		rest []any
	}
	var steps []step
	var recs []*decisions.Record
	addedTo := map[string]bool{}
	for range 300 {
		at := noon.Add(time.Duration(random.Int64N(1e18)))
		if kind := byte(1 + random.IntN(5)); kind > 1 && kind < 5 && len(recs) > 0 {
			rec := recs[random.IntN(len(recs))]
			id, key := rec.Decision.ID, fmt.Sprint(rec.Decision.ID, kind)
			s := step{kind: kind, seq: rec.Seq, at: at}
			var err error
			switch kind {
			case 2:
				a := decisions.HumanAnswer{Time: at, Verdict: decisions.Deny, Choices: []string{"x"}}
				s.rest = []any{"deny", []byte(`{"choices":["x"]}`)}
				if uid := random.Uint32(); uid%2 == 0 {
					a.Author = &author.Identity{Via: author.Web, UID: uid, PID: 9, Process: "permd"}
					s.rest[1] = fmt.Appendf(nil, `{"choices":["x"],"author":{"via":"web","uid":%d,"pid":9,"process":"permd"}}`, uid)
				}
				err = j.Answer(t.Context(), id, a)
			case 3:
				err = j.Ran(t.Context(), id, at)
			case 4:
				err = j.Ended(t.Context(), id, decisions.Ending{Time: at, As: "cancelled"})
				s.rest = []any{[]byte("cancelled")}
			}
			if err != nil {
				t.Fatal(err)
			}
			if !addedTo[key] {
				addedTo[key] = true
				steps = append(steps, s)
			}
			continue
		}
		rec := record(len(recs))
		rec.Time, rec.Tool, rec.Peer.UID = at, fmt.Sprint("tool", random.IntN(3)), random.Uint32()
		rec.Decision.Reason = strings.Repeat("é\"", random.IntN(9))
		recs = append(recs, rec)
		mustAppend(t, j, rec)
		stored := *rec
		stored.Seq = 0
		text, err := journal.Encode(&stored)
		if err != nil {
			t.Fatal(err)
		}
		d := &rec.Decision
		steps = append(steps, step{1, rec.Seq, at, []any{
			int64(rec.Peer.UID), rec.LatencyNS, d.ID, rec.Session.ID, rec.Agent.Name, rec.Tool, string(d.Verdict), string(d.By), text,
		}})
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", o.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var id, head []byte
	if err := db.QueryRow("SELECT id, head FROM chain").Scan(&id, &head); err != nil {
		t.Fatal(err)
	}
	first := sha256.Sum256(slices.Concat([]byte("permd journal chain 1\n"), id, make([]byte, 8)))
	prev := first[:]
	for i, s := range steps {
		prev = secondHash(id, prev, s.kind, s.seq, s.at.UnixNano(), s.rest...)
		var have []byte
		query, args := "SELECT hash FROM decisions WHERE seq = ?", []any{s.seq}
		if s.kind > 1 {
			query, args = "SELECT hash FROM notes WHERE n = ?", []any{i + 1}
		}
		if err := db.QueryRow(query, args...).Scan(&have); err != nil || hex.EncodeToString(have) != hex.EncodeToString(prev) {
			t.Fatalf("entry %d of kind %d about %d has the hash %x, %v; want %x", i+1, s.kind, s.seq, have, err, prev)
		}
	}
	if hex.EncodeToString(head) != hex.EncodeToString(prev) {
		t.Errorf("the head is %x, want %x", head, prev)
	}
	clean(t, verifyFile(t, o.Path, verify.Options{}))
}
