package decisionlogs

import (
	"context"
	"time"
)

// Status says how far the log was sent.
type Status struct {
	// Configured is set if the log is to be sent, and Service names where to.
	Configured bool   `json:"configured"`
	Service    string `json:"service,omitzero"`
	// Acknowledged is the number of the newest decision that the service has, or that was
	// dropped; AcknowledgedAt is when it acknowledged the latest upload.
	Acknowledged   int64     `json:"acknowledged"`
	AcknowledgedAt time.Time `json:"acknowledgedAt,omitzero"`
	// Waiting decisions are to be sent, the first of which was made at WaitingSince.
	Waiting      int64     `json:"waiting"`
	WaitingSince time.Time `json:"waitingSince,omitzero"`
	// Error is why the latest upload failed, "" if it did not, and FailingSince when the first
	// one failed since the latest success.
	Error        string    `json:"error,omitzero"`
	FailingSince time.Time `json:"failingSince,omitzero"`
	// Lost decisions were removed from the journal before they were sent.
	Lost int64 `json:"lost,omitzero"`
	// MaskError is why the policy that masks failed last, since the start.
	MaskError string `json:"maskError,omitzero"`
}

// waitingWithin bounds how long a status waits for the journal.
const waitingWithin = time.Second

// Status returns how far the log was sent, nil if it is not to be sent.
func (u *Uploader) Status() *Status {
	u.mu.Lock()
	s := u.status
	u.mu.Unlock()
	if s.Configured = s.Configured || s.Service != ""; !s.Configured {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitingWithin)
	defer cancel()
	n, since, err := u.o.Source.Waiting(ctx, Position{Seq: s.Acknowledged})
	if err == nil {
		s.Waiting, s.WaitingSince = n, since
	}
	return &s
}

// Counts returns what was counted since the start.
func (u *Uploader) Counts() Counts {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.counts
}

func (u *Uploader) set(change func(*Status)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change(&u.status)
}

func (u *Uploader) count(change func(*Counts) int64) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return change(&u.counts)
}
