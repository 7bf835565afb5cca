//go:build cgo

package remember

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
)

// FuzzRow: whatever the columns of a choice hold, an allow that can be read is matched by
// facts or by a line that can be read; and a reject that can be read matches something.
func FuzzRow(f *testing.F) {
	sum := bytes.Repeat([]byte{7}, len(digest{}))
	f.Add(true, "run", "git log *", int64(factsLine), sum, []byte(`{}`), []byte(nil))
	f.Add(false, "run", "git push *", int64(factsLine), sum, []byte(`{}`), []byte(nil))
	f.Add(false, "unknown", "x", int64(factsParts), sum, []byte(`{}`), []byte(`[{"kind":"unknown","rule":"x","sums":["`+strings.Repeat("07", len(sum))+`"]},{"kind":"read","rule":"./.env"}]`))
	f.Add(false, "", lostRule, int64(factsParts), sum, []byte(`{}`), []byte(`[{"kind":"","rule":"`+lostRule+`"}]`))
	f.Add(false, "run", "x", int64(factsParts), sum, []byte(`{}`), []byte(`[{"kind":"bogus","rule":"`+lostRule+`"}]`))
	f.Add(false, "run", "a\nb", int64(5), sum[:3], []byte(`{"x":1}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, allow bool, kind, label string, stored int64, sum, pins, parts []byte) {
		e := &entry{stored: stored}
		e.choice = Choice{ID: "c", Verdict: decisions.Deny, Kind: effects.Kind(kind), Label: label, UID: 1, Scope: Scope{Kind: ForUser}}
		if allow {
			e.choice.Verdict = decisions.Allow
		}
		if err := e.readBound(sum, pins, parts); err != nil {
			return // scan drops an allow, and makes a reject one of everything
		}
		e.finish()
		if allow {
			if e.stored == factsLine && e.line == nil {
				t.Fatal("an allow without facts and without a line")
			}
			if len(e.parts) > 0 {
				t.Fatal("an allow with parts")
			}
			return
		}
		if len(e.parts) == 0 {
			t.Fatalf("a reject of nothing: %q %q %d %s", kind, label, stored, parts)
		}
		for _, p := range e.parts {
			if len(p.keysOf()) == 0 && !p.matchesAll() {
				t.Fatalf("a part that nothing finds: %+v", p.Part)
			}
			if p.matchesAll() && p.Kind != "" && !strings.Contains(" run read write delete connect use state mode question unknown ", " "+string(p.Kind)+" ") {
				t.Fatalf("a part about effects that there are none of: %+v", p.Part)
			}
		}
	})
}

// FuzzExpiry: a limit is what was asked for, or refused.
func FuzzExpiry(f *testing.F) {
	for _, n := range []int64{0, 1, -1, 315_360_000, 315_360_001, math.MaxInt64, math.MinInt64, math.MaxInt64 / int64(time.Second)} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, seconds int64) {
		got, err := Expiry(seconds)
		if err == nil && (seconds < 0 || int64(got/time.Second) != seconds || got > maxExpiry) {
			t.Fatal(fmt.Sprint(seconds, " seconds are ", got))
		}
		if err != nil && seconds >= 0 && seconds <= int64(maxExpiry/time.Second) {
			t.Fatalf("%d seconds: %v", seconds, err)
		}
	})
}
