// Package decisionlogs sends the journal to a service that takes OPA's decision logs: arrays
// of events as JSON, compressed with gzip, by POST. The journal stays the truth and is the
// buffer: what the service has acknowledged is a position in it, which is kept in a file. So
// nothing is lost by an outage, a restart or a crash as long as the journal keeps it, the order
// is that of the journal, and no decision waits.
//
// An event can come twice, since the file is written after the acknowledgement; its decision_id
// tells. What is added to a decision later (a person's answer) comes as its event once more, as
// it is then.
package decisionlogs

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/policy/decisionlogs/masking"
)

// Bounds of uploads.
const (
	// attemptTimeout bounds one upload, however slow the service is.
	attemptTimeout = time.Minute
	// firstRetry is the delay after the first failure; it doubles with each further one.
	firstRetry = 500 * time.Millisecond
	// maxRetryAfter bounds what the service may ask for by Retry-After.
	maxRetryAfter = time.Hour
	// lookEvery is how often the configuration is read while it names no service.
	lookEvery = 20 * time.Second
	// remindEvery is how often the log says that uploads still fail.
	remindEvery = time.Hour
)

// Position is a place in the journal: what is before it was sent. The zero Position is the
// beginning.
type Position struct {
	Chain string `json:"chain"` // which journal it is
	Seq   int64  `json:"seq"`   // of the newest decision before it
	ID    string `json:"id"`    // of the same
	Entry int64  `json:"entry"` // of the newest addition before it
	Base  int64  `json:"base"`  // decisions up to this one were gone when the log was first sent
}

// Entry is a decision of the journal in its present state.
type Entry struct {
	Record *decisions.Record
	Added  string
	After  Position
}

// Page is what follows a position.
type Page struct {
	Entries     []Entry
	Start, Next Position // Start is the position that was read from, of this journal
	// Lost decisions, with numbers between LostFrom and LostTo, were removed from the journal
	// before they were read.
	Lost, LostFrom, LostTo int64
	// Replaced says that the position is of another journal: the entries are from the beginning
	// of this one.
	Replaced bool
}

// Source is the journal.
type Source interface {
	Read(ctx context.Context, from Position) (Page, error)
	// Waiting returns how many decisions follow a position, and when the first of them was made.
	Waiting(ctx context.Context, from Position) (n int64, since time.Time, err error)
}

// Target is where the log is sent, and how.
type Target struct {
	Config Config
	// Post sends the body of a request to a path at the service, compressed with gzip.
	Post func(ctx context.Context, path string, body []byte) (*http.Response, error)
	// Policy masks and drops events; nil for none.
	Policy *masking.Policy
	// Labels are those of the configuration; each event has them.
	Labels map[string]string
}

// Options are what an Uploader needs.
type Options struct {
	Source Source
	// Target returns where the log is sent from now on, nil for nowhere. It is called before
	// each upload. While it fails, nothing is sent: a policy that should mask may be what failed.
	Target func() (*Target, error)
	// File keeps the position. Its folder is made if there is none.
	File string
	Log  *slog.Logger
	Now  func() time.Time // time.Now if nil
}

// Uploader sends the journal.
type Uploader struct {
	o      Options
	cursor cursor // of Run alone
	limit  int    // of uploads, in bytes: the service may take less than is configured; 0 for what is
	target *Target

	failures int       // since the latest success
	reminded time.Time // in the log

	mu     sync.Mutex
	status Status
	counts Counts
}

// Counts count since the start.
type Counts struct {
	Uploads, Failed int64 // requests that the service has acknowledged, and others
	Events          int64 // that it has acknowledged
	Dropped         int64 // by system.log.drop
	Lost            int64 // removed from the journal before they were sent
	Unmasked        int64 // sent without input and result, since the policy failed
	Shortened       int64 // sent without most of their input and result, since they are too large
}

// New returns an uploader, which continues where the file says.
func New(o Options) *Uploader {
	if o.Now == nil {
		o.Now = time.Now
	}
	u := &Uploader{o: o}
	var err error
	if u.cursor, err = readCursor(o.File); err != nil {
		o.Log.Warn("it is not known what of the log was sent, so all of it is sent again", "error", err)
	}
	u.status.Acknowledged, u.status.AcknowledgedAt, u.status.Lost = u.cursor.Seq, u.cursor.Time, u.cursor.Lost
	return u
}

// Run sends until ctx ends. What is not sent by then is sent after the next start.
func (u *Uploader) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := u.round(ctx)
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// round sends what there is, and returns how long to wait then.
func (u *Uploader) round(ctx context.Context) time.Duration {
	target, err := u.o.Target()
	if err == nil && target == nil {
		u.target = nil
		u.set(func(s *Status) { s.Service, s.Error, s.FailingSince = "", "", time.Time{} })
		return lookEvery
	}
	if err == nil {
		if u.target == nil || u.target.Config.UploadLimit != target.Config.UploadLimit {
			u.limit = 0
		}
		u.target = target
		u.set(func(s *Status) { s.Service = target.Config.Service })
		err = u.drain(ctx)
	}
	if ctx.Err() != nil {
		return 0
	}
	if err == nil {
		u.recovered()
		return between(target.Config.MinDelay, target.Config.MaxDelay)
	}
	return u.noteFailure(err)
}

// noteFailure notes a failure and returns how long to wait before the next attempt.
func (u *Uploader) noteFailure(err error) time.Duration {
	now := u.o.Now()
	u.set(func(s *Status) {
		s.Configured = true
		if s.Error = err.Error(); s.FailingSince.IsZero() {
			s.FailingSince = now
		}
	})
	if u.failures == 0 || now.Sub(u.reminded).Abs() >= remindEvery {
		u.reminded = now
		u.o.Log.Warn("the log cannot be sent to the service; it is kept, and tried again", "error", err)
	}
	most := defaultMaxDelay
	if u.target != nil {
		most = u.target.Config.MaxDelay
	}
	wait := most
	if u.failures < 20 {
		wait = min(most, firstRetry<<u.failures)
	}
	u.failures++
	// With jitter: the machines of an organisation must not all come back at once.
	return max(between(wait/2, wait), retryAfter(err))
}

// recovered notes that the service has taken everything.
func (u *Uploader) recovered() {
	if u.failures > 0 {
		u.o.Log.Info("the log is sent to the service again")
	}
	u.failures = 0
	u.set(func(s *Status) { s.Error, s.FailingSince = "", time.Time{} })
}

// between returns a random time between two.
func between(from, to time.Duration) time.Duration {
	if to <= from {
		return from
	}
	return from + rand.N(to-from) //nolint:gosec // it spreads requests, and is no secret
}

// drain sends all that the journal has.
func (u *Uploader) drain(ctx context.Context) error {
	for {
		page, err := u.o.Source.Read(ctx, u.cursor.Position)
		if err != nil {
			return err
		}
		if u.cursor.Position == (Position{}) {
			// From now on what is removed is known to be missing.
			u.cursor.Position = page.Start
			if err := u.keep(); err != nil {
				return err
			}
		}
		if page.Next == u.cursor.Position && page.Lost == 0 && !page.Replaced {
			return ctx.Err()
		}
		if err := u.send(ctx, u.items(ctx, &page)); err != nil {
			return err
		}
		if u.cursor.Position != page.Next {
			u.cursor.Position = page.Next
			if err := u.keep(); err != nil {
				return err
			}
		}
	}
}
