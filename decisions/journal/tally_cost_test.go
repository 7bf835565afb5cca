//go:build cgo

package journal_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/journal"
	"github.com/permd/permd/decisions/journal/verify"
	"github.com/permd/permd/decisions/tally"
)

// TestReadingCost bounds what reading a whole journal allocates for each decision. Each of
// these has a body of its own.
func TestReadingCost(t *testing.T) {
	const n = 2048
	o := journal.Options{Path: filepath.Join(t.TempDir(), "private", "decisions.db")}
	j := open(t, o)
	var recs []*decisions.Record
	for i := range n {
		rec := record(i)
		rec.Project = "/home/x/p"
		rec.Details = []decisions.EffectDetail{{Words: []string{"git", "show", fmt.Sprint(i)}}, {Path: fmt.Sprint("/home/x/p/file", i)}}
		recs = append(recs, rec)
	}
	mustAppend(t, j, recs...)
	if err := j.Close(); err != nil { // what is in the spool moves
		t.Fatal(err)
	}
	r, err := journal.OpenReadOnly(o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.SetScan(4096, time.Hour) // in one part, however slow
	for _, c := range []struct {
		name string
		most float64 // allocations for each decision
		read func() error
	}{
		{"count programs", 8, func() error {
			got, err := r.Tally(t.Context(), decisions.RecordFilter{}, []tally.By{tally.Program}, nil)
			if err == nil && (len(got.Groups) != 1 || got.Groups[0].Name != "git" || got.Groups[0].All() != n) {
				err = fmt.Errorf("counted %+v", got.Groups)
			}
			return err
		}},
		{"verify", 39, func() error {
			got, err := r.Verify(t.Context(), verify.Options{})
			if err == nil && (got.Decisions != n || len(got.Faults) > 0) {
				err = fmt.Errorf("verified %+v", got)
			}
			return err
		}},
	} {
		each := testing.AllocsPerRun(3, func() {
			if err := c.read(); err != nil {
				t.Fatal(err)
			}
		}) / n
		if t.Logf("%s: %.1f allocations for each decision", c.name, each); each > c.most {
			t.Errorf("%s: %.1f allocations for each decision, want at most %.1f", c.name, each, c.most)
		}
	}
}
