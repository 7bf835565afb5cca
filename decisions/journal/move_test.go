//go:build cgo && linux

package journal_test

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
)

// TestReadBesideMover reads while records move: each reader sees every record that
// was stored before, exactly once.
func TestReadBesideMover(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it reads for seconds while records are moved")
	}
	t.Parallel()
	o := journal.Options{Path: path(t)}
	j := open(t, o)
	other, err := journal.OpenReadOnly(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	end := time.Now().Add(1500 * time.Millisecond)
	for n := 1; time.Now().Before(end); n++ {
		mustAppend(t, j, record(n))
		if n%50 != 0 {
			continue
		}
		for who, r := range map[string]*journal.Reader{"own": j.Reader, "other": other} {
			recs, err := r.List(t.Context(), decisions.RecordFilter{Limit: 200})
			if err != nil {
				t.Fatal(err)
			}
			for i, rec := range recs {
				if want := int64(n - len(recs) + 1 + i); rec.Seq != want {
					t.Fatalf("%s: record %d of %d is number %d, want %d", who, i, len(recs), rec.Seq, want)
				}
			}
			count, err := r.Count(t.Context(), decisions.RecordFilter{})
			if err != nil || int(count) != n {
				t.Fatalf("%s: counted %d, %v; want %d", who, count, err, n)
			}
		}
	}
}

// TestCloseEmptiesSpool: after Close all records are in the database, with every
// durability.
func TestCloseEmptiesSpool(t *testing.T) {
	for _, d := range []journal.Durability{journal.Process, journal.Power} {
		o := journal.Options{Path: path(t), Durability: d}
		j := open(t, o)
		mustAppend(t, j, record(1), record(2))
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		for _, n := range []string{"0", "1"} {
			f, err := os.Open(o.Path + ".spool-" + n)
			if err != nil {
				t.Fatal(err)
			}
			if size, err := f.Seek(0, io.SeekEnd); size != 4096 || err != nil {
				t.Errorf("%s: segment %s has %d bytes, %v", d, n, size, err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
