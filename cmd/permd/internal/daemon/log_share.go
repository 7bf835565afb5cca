package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/permd/permd/decisions"
)

// keptForActs is which part of a share decisions leave for what a person does with commands:
// an agent in a loop must not keep its person from pausing or locking permd.
const keptForActs = 16

// logShares limits what one user writes to the log of a daemon for several: a full log drops its
// oldest decisions, of any user. Each user has a share, which is refilled at a constant rate within
// a day. A nil *logShares, as in a daemon for one person, limits nothing.
type logShares struct {
	bytes int64
	log   *slog.Logger
	now   func() time.Time // with the monotonic clock: a clock that is set gives nobody a new share

	mu   sync.Mutex
	left map[uint32]*rate.Limiter // of who has written
}

// shareLog bounds what each person writes, where the daemon serves several. It returns what the
// journal calls with what was written, nil for a daemon for one person.
func (d *daemon) shareLog(log *slog.Logger) (wrote func(uid uint32, bytes int)) {
	if !d.dirs.System {
		return nil
	}
	d.shares = newLogShares(int64(d.rules.Settings.System.LogBytesPerUser), log)
	return d.shares.wrote
}

func newLogShares(bytes int64, log *slog.Logger) *logShares {
	return &logShares{bytes: bytes, log: log, now: time.Now, left: map[uint32]*rate.Limiter{}}
}

// admit returns an error if the user has used the share up: for decisions, except for what is
// kept for acts. Root has no bound, who can change the log itself.
func (s *logShares) admit(uid uint32, act bool) error {
	if s == nil || uid == 0 {
		return nil
	}
	least := 0.0
	if !act {
		least = float64(s.bytes / keptForActs)
	}
	left := s.of(uid).TokensAt(s.now())
	if left > least {
		return nil
	}
	wait := time.Duration((least - left) / float64(s.bytes) * float64(24*time.Hour)).Round(time.Minute)
	s.log.Warn("a user has used up the share of the log", "uid", uid, "share_bytes", s.bytes, "for", wait)
	return fmt.Errorf("%w: %d MiB in a day", decisions.ErrLogShare, s.bytes>>20)
}

// wrote counts what was written.
func (s *logShares) wrote(uid uint32, bytes int) {
	if uid != 0 {
		// Also what exceeds the share: the limiter then waits for longer.
		s.of(uid).ReserveN(s.now(), int(min(int64(bytes), s.bytes)))
	}
}

func (s *logShares) of(uid uint32) *rate.Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.left[uid]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(float64(s.bytes)/(24*time.Hour).Seconds()), int(s.bytes))
		s.left[uid] = l
	}
	return l
}

// LogShare is what of the log one person may write.
type LogShare struct {
	// Bytes are those of a day, and Left those that are left now.
	Bytes int64 `json:"bytes"`
	Left  int64 `json:"left"`
	// UsedUp is set while decisions of this person cannot be logged, so that nothing is allowed.
	UsedUp bool `json:"usedUp,omitzero"`
}

// statusOf returns the share of a user, nil if there is no bound.
func (s *logShares) statusOf(uid uint32) *LogShare {
	if s == nil || uid == 0 {
		return nil
	}
	s.mu.Lock()
	l := s.left[uid]
	s.mu.Unlock()
	share := &LogShare{Bytes: s.bytes, Left: s.bytes}
	if l != nil {
		share.Left = max(0, int64(l.TokensAt(s.now())))
	}
	share.UsedUp = share.Left <= s.bytes/keptForActs
	return share
}

// usedUp returns the users whose decisions cannot be logged now.
func (s *logShares) usedUp() (uids []uint32) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid, l := range s.left {
		if l.TokensAt(s.now()) <= float64(s.bytes/keptForActs) {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return uids
}

// bound returns the journal, which stores decisions only of who has a share left.
func (s *logShares) bound(j decisions.Journal) decisions.Journal {
	if s == nil {
		return j
	}
	return sharedJournal{j, s}
}

// sharedJournal is a journal of several people.
type sharedJournal struct {
	decisions.Journal
	shares *logShares
}

// Append stores the records, which are of one user.
func (s sharedJournal) Append(ctx context.Context, recs ...*decisions.Record) error {
	if len(recs) > 0 {
		if err := s.shares.admit(recs[0].Peer.UID, false); err != nil {
			return err
		}
	}
	return s.Journal.Append(ctx, recs...)
}

// Prompt implements [decisions.PromptJournal].
func (s sharedJournal) Prompt() bool {
	j, ok := s.Journal.(decisions.PromptJournal)
	return ok && j.Prompt()
}

// LogShareLines says how much of the share of who asks is left, and names the users that have
// used up theirs. It returns none if there is nothing to report.
func LogShareLines(own *LogShare, usedUp []uint32) (lines []string) {
	switch {
	case own == nil || own.Left > own.Bytes/2:
	case own.UsedUp:
		lines = append(lines, fmt.Sprintf("your share of it, %d MiB in a day, is used up, so nothing of yours is allowed: it comes back evenly", own.Bytes>>20))
	default:
		lines = append(lines, fmt.Sprintf("of your share of it, %d MiB in a day, %d MiB are left", own.Bytes>>20, own.Left>>20))
	}
	if len(usedUp) > 0 {
		lines = append(lines, fmt.Sprintf("users who have used up their shares of it, so that nothing of theirs is allowed: %v", usedUp))
	}
	return lines
}
