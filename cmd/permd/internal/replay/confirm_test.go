package replay

import (
	"os"
	"strings"
	"testing"

	"github.com/permd/permd/cmd/permd/internal/cli"
	"github.com/permd/permd/decisions"
)

// TestConfirmEqual: lines are confirmed by each distinct call once, and counted for all calls, as a
// replay of all of them does.
func TestConfirmEqual(t *testing.T) {
	const n = 240
	world(t, n)
	h, j, err := lookBack(t.Context(), &cli.Streams{Err: os.Stderr}, "", decisions.RecordFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.equal) >= n/8 {
		t.Errorf("%d of %d calls are decided again", len(h.equal), n)
	}
	for _, a := range h.list {
		if a.asked == "" {
			continue
		}
		if !strings.Contains(a.asked, "frob b") {
			continue
		}
		for yaml, want := range map[string]string{
			"allow:\n  run: [frob b]\n": "",
			"allow:\n  run: [other]\n":  "would end 0 of " + cli.Plural(a.count, "such question"),
		} {
			bad, err := j.confirm(t.Context(), h, map[string]string{a.asked: yaml})
			if err != nil {
				t.Fatal(err)
			}
			if got := bad[a.asked]; (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%q: %q, want %q", yaml, got, want)
			}
		}
		// The oracle: all of the calls, each by itself.
		dec, err := newDecider(t.Context(), j.dirs, "", false)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		err = j.replay(t.Context(), decisions.RecordFilter{}, dec, func(p *past) {
			if p.now != nil && p.now.Verdict == decisions.Ask && strings.Contains(p.rec.Decision.Effects[0].Text, "frob b") {
				asked++
			}
		})
		if err != nil || asked != a.count || asked < n/16 {
			t.Errorf("%d calls are asked, %d are counted: %v", asked, a.count, err)
		}
		return
	}
	t.Error("no question")
}
