package arguments

import (
	"log/slog"
	"testing"
	"time"
)

// TestMixedRevision: where the rules in force were never those of the files, those of then are not
// known, and the ones before them do not count in their place.
func TestMixedRevision(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := Keep(Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	t.Cleanup(k.Close)
	at := time.Now().Add(-time.Hour)
	for i, r := range []*Revision{{Digest: "first"}, {Digest: "second", Mixed: true}} {
		if err := k.SaveRevision(r, at.Add(time.Duration(i)*time.Minute), 0); err != nil {
			t.Fatal(err)
		}
	}
	r, _, until, err := RevisionAt(dir, at.Add(30*time.Second))
	if err != nil || r == nil || r.Digest != "first" || !until.Equal(at.Add(time.Minute)) {
		t.Errorf("before: %+v until %v, %v", r, until, err)
	}
	if r, since, _, err := RevisionAt(dir, at.Add(2*time.Minute)); err != nil || r != nil || !since.Equal(at.Add(time.Minute)) {
		t.Errorf("after: %+v since %v, %v", r, since, err)
	}
	if was, now := LatestRevision(dir, "second"); was != now || now != "second" {
		t.Errorf("the latest is %q, want %q", was, now)
	}
}
