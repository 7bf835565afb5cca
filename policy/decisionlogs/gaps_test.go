package decisionlogs

import (
	"net/http"
	"path/filepath"
	"slices"
	"testing"
)

// TestGaps: what is gone before it was sent is said in its place, once.
func TestGaps(t *testing.T) {
	b, s, file := newBook(8), newService(t), filepath.Join(t.TempDir(), "f")
	b.cut = 2 // before the log was ever to be sent
	s.answer = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return false }
	newUploader(t, b, file, s.target(nil)).round(t.Context())
	b.cut = 5
	s.answer = nil
	u := newUploader(t, b, file, s.target(nil))
	u.round(t.Context())
	u.round(t.Context())
	if got := s.ids(); len(got) != 4 || !slices.Equal(got[1:], ids(6, 8)) || s.events[0].Path != gapPath {
		t.Fatalf("the service has %v", got)
	}
	if gap := s.events[0].Custom.Permd.Gap; gap["from"] != 3.0 || gap["to"] != 5.0 || gap["removed"] != 3.0 || gap["reason"] != "removed" {
		t.Errorf("the gap is %v", gap)
	}
	if st := u.Status(); st.Lost != 3 || u.Counts().Lost != 3 {
		t.Errorf("%+v, %+v", st, u.Counts())
	}
	other := &book{chain: "c2", page: 3}
	other.add(1, "x")
	u = newUploader(t, other, file, s.target(nil))
	u.round(t.Context())
	if got := s.ids(); len(got) != 6 || got[5] != "c2-d1" || s.events[4].Custom.Permd.Gap["reason"] != "replaced" {
		t.Errorf("the service has %v", got)
	}
	if st := u.Status(); st.Lost != 3 || st.Acknowledged != 1 {
		t.Errorf("%+v", st)
	}
}

// TestGapAlone: a gap whose event was taken, and what follows it was not, is looked for again and
// counted once.
func TestGapAlone(t *testing.T) {
	b, s, file := newBook(8), newService(t), filepath.Join(t.TempDir(), "f")
	u := newUploader(t, b, file, s.target(nil))
	u.round(t.Context())
	b.add(4, "x")
	b.cut = 10
	posts := 0
	s.answer = func(w http.ResponseWriter, _ *http.Request) bool {
		if posts++; posts != 2 {
			return true
		}
		w.WriteHeader(500)
		return false
	}
	u.limit = 1 // each event alone
	u.round(t.Context())
	if st := u.Status(); st.Lost != 0 || posts != 2 {
		t.Fatalf("after %d uploads %+v", posts, st)
	}
	u.round(t.Context())
	if st := u.Status(); st.Lost != 2 || u.Counts().Lost != 2 {
		t.Errorf("%+v, %+v", st, u.Counts())
	}
	gaps := map[string]bool{}
	for _, e := range s.events {
		if e.Path == gapPath {
			gaps[e.ID] = true
		}
	}
	if got := s.ids(); len(gaps) != 1 || !slices.Equal(got[len(got)-2:], ids(11, 12)) {
		t.Errorf("the service has %v", got)
	}
}
