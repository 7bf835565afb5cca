package daemon

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
)

// sizedJournal is a journal whose records have a size.
type sizedJournal struct {
	size   int
	stored map[uint32]int
	wrote  func(uid uint32, bytes int)
}

func (j *sizedJournal) Append(_ context.Context, recs ...*decisions.Record) error {
	j.stored[recs[0].Peer.UID]++
	j.wrote(recs[0].Peer.UID, j.size)
	return nil
}

func TestLogShares(t *testing.T) {
	now := time.Now()
	const share = 1 << 20
	s := newLogShares(share, slog.New(slog.DiscardHandler))
	s.now = func() time.Time { return now }
	j := &sizedJournal{share / 64, map[uint32]int{}, s.wrote}
	bound := s.bound(j)
	fill := func(uid uint32) (n int) {
		t.Helper()
		for n = range 1000 {
			err := bound.Append(t.Context(), &decisions.Record{Peer: decisions.Peer{UID: uid}})
			if errors.Is(err, decisions.ErrLogShare) {
				return n
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return 1000
	}
	if n := fill(ana); n != 60 || j.stored[ana] != n {
		t.Errorf("%d records of a 64th fit into a share less a 16th, %d are stored", n, j.stored[ana])
	}
	if got := s.statusOf(ana); !got.UsedUp || got.Left != share/16 || got.Bytes != share {
		t.Errorf("status %+v", got)
	}
	if lines := LogShareLines(s.statusOf(ana), s.usedUp()); len(lines) != 2 || !strings.Contains(lines[0], "used up") || !strings.Contains(lines[1], "[4701]") {
		t.Errorf("%q", lines)
	}
	if err := s.admit(ana, true); err != nil {
		t.Errorf("a command of the person: %v", err)
	}
	for range 4 {
		s.wrote(ana, j.size)
	}
	if err := s.admit(ana, true); !errors.Is(err, decisions.ErrLogShare) {
		t.Errorf("commands have no bound: %v", err)
	}
	if got := LogShareLines(s.statusOf(bob), nil); s.statusOf(bob).Left != share || got != nil {
		t.Errorf("the share of another: %+v, %q", s.statusOf(bob), got)
	}
	if n := fill(0); n != 1000 {
		t.Errorf("root has a bound: %d", n)
	}
	now = now.Add(6 * time.Hour) // a quarter of it comes back
	if n := fill(ana); n != 12 {
		t.Errorf("after six hours %d records fit, want 12", n)
	}
	now = now.Add(48 * time.Hour)
	if n := fill(ana); n != 60 {
		t.Errorf("after two days %d records fit, want 60", n)
	}
	// One that is larger than what is left is counted whole.
	s.wrote(bob, share-share/16-1)
	s.wrote(bob, share)
	now = now.Add(20 * time.Hour)
	if !slices.Contains(s.usedUp(), bob) {
		t.Error("what exceeded the share was not counted")
	}
}

// TestNoLogShares tests that in a daemon for one person nothing is bounded.
func TestNoLogShares(t *testing.T) {
	var s *logShares
	j := &sizedJournal{}
	if s.bound(j) != decisions.Journal(j) || s.admit(ana, false) != nil || s.statusOf(ana) != nil || s.usedUp() != nil {
		t.Error("the log of one person is bounded")
	}
}

// TestLogShareOfOne tests that a person whose share is used up is allowed nothing and can still
// lock permd, and that others notice nothing.
func TestLogShareOfOne(t *testing.T) {
	w := newSystemWorld(t, "[system]\nlog_bytes_per_user = 1048576\n")
	decide := func(uid uint32, command string) string {
		return w.must(t, w.methods, uid, "permd/decide", `{"sessionId":"s","calls":[{"callId":"1","tool":{"name":"Bash"},"input":{"command":"`+command+`"}}]}`)
	}
	for _, uid := range []uint32{ana, bob} {
		w.must(t, w.methods, uid, "permd/session", `{"sessionId":"s","cwd":"/srv","agent":{"name":"claude-code","version":"1"}}`)
		if answer := decide(uid, "echo x"); !strings.Contains(answer, `"verdict":"allow"`) {
			t.Fatalf("%d: %s", uid, answer)
		}
	}
	long := "frob " + strings.Repeat("x", 8<<10)
	answer := ""
	for range 400 {
		decide(ana, long)
		if answer = decide(ana, "echo x"); !strings.Contains(answer, `"verdict":"allow"`) {
			break
		}
	}
	if !strings.Contains(answer, `"verdict":"ask"`) || !strings.Contains(answer, "your share of the log is used up") {
		t.Errorf("ana, whose share is used up: %s", answer)
	}
	if answer := decide(bob, "echo x"); !strings.Contains(answer, `"verdict":"allow"`) {
		t.Errorf("bob, who has written little: %s", answer)
	}
	if answer := w.must(t, w.admin, ana, admin.MethodStatus, `{}`); !strings.Contains(answer, `"usedUp":true`) {
		t.Errorf("the status of ana: %s", answer)
	}
	if answer := w.must(t, w.admin, bob, admin.MethodStatus, `{}`); strings.Contains(answer, `"usedUp":true`) || strings.Contains(answer, "4701") {
		t.Errorf("the status of bob: %s", answer)
	}
	if answer := w.must(t, w.admin, 0, admin.MethodStatus, `{}`); !strings.Contains(answer, `"logSharesUsedUp":[4701]`) {
		t.Errorf("the status of root: %s", answer)
	}
	w.must(t, w.admin, ana, admin.MethodLock, `{}`)
	if answer := decide(ana, "echo x"); !strings.Contains(answer, "locked") {
		t.Errorf("ana has locked permd: %s", answer)
	}
}
