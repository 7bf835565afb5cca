//go:build cgo

package remember

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
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

// FuzzRevocations: what a file of revocations says is written and read as the same, and
// a file that is cut off or full of something else revokes no less than what can be read
// of it.
func FuzzRevocations(f *testing.F) {
	f.Add([]byte("a@1700000000\nb@1700000001\n*@1600000000\n"), int64(1_700_000_000_000_000_000))
	f.Add([]byte("old-form\n* \n@5\nx@-1\ny@99999999999999999999\n"), int64(5))
	f.Add(bytes.Repeat([]byte("0123456789-0123456789@1700000000\n"), 700), int64(1_700_000_000_000_000_000))
	file := filepath.Join(f.TempDir(), "revoked")
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		// In memory, where a sync takes no time.
		dir, err := os.MkdirTemp("/dev/shm", "permd-fuzz")
		if err != nil {
			f.Fatal(err)
		}
		file = filepath.Join(dir, "revoked")
		f.Cleanup(func() { _, _ = os.Remove(file), os.Remove(dir) })
	}
	f.Fuzz(func(t *testing.T, data []byte, latest int64) {
		if latest < 0 || latest > math.MaxInt64/2 {
			return
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		read := func() *pendingRevocations {
			p := new(pendingRevocations)
			if err := p.open(file, int64(time.Hour), latest); err != nil {
				t.Fatal(err)
			}
			return p
		}
		first := read()
		if err := first.save(); err != nil {
			t.Fatal(err)
		}
		if err := first.close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil || info.Size() < pendingBytes && len(data) < pendingBytes {
			t.Fatalf("the file has %d bytes, %v", info.Size(), err)
		}
		second := read()
		defer second.close()
		if second.revokedBefore < first.revokedBefore {
			t.Fatalf("all up to %d were revoked, and now up to %d", first.revokedBefore, second.revokedBefore)
		}
		for id, r := range first.ids {
			again, ok := second.ids[id]
			if !ok && r.created > second.revokedBefore {
				t.Fatalf("%q is not revoked any more", id)
			}
			if ok && again.created < r.created {
				t.Fatalf("%q was of %d, and is of %d", id, r.created, again.created)
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
