package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket"
)

// reply is an answer of the daemon.
type reply struct {
	ID     int
	Result *struct {
		Decisions []decision
		Outcome   struct{ Outcome string }
		Meta      struct{ Permd decision } `json:"_meta"`
		Stored    []storedChoice
	}
	Error *replyError
}

type replyError struct {
	Code    int
	Message string
	Data    decision
}

// Error returns the daemon's message.
func (e *replyError) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

type decision struct {
	DecisionID, Verdict, DecidedBy, Reason string
	Widths                                 []struct{ ID string }
	Policy                                 struct{ Digest string }
	Effects                                []struct{}
}

// decision returns the decision of an answer.
func (r *reply) decision() (*decision, error) {
	switch {
	case r.Error != nil && r.Error.Code == socket.CodeAsk:
		return &r.Error.Data, nil
	case r.Error != nil:
		return nil, r.Error
	case r.Result != nil && len(r.Result.Decisions) == 1:
		return &r.Result.Decisions[0], nil
	case r.Result != nil && r.Result.Meta.Permd.Verdict != "":
		return &r.Result.Meta.Permd, nil
	}
	return nil, errors.New("an answer without a decision")
}

// check checks the answer to a request, and counts it. It returns the decision, nil if
// the answer has none that counts.
func (c *connection) check(ctx context.Context, asked *request, r *reply) (*decision, error) {
	switch {
	case r.Error != nil && r.Error.Code == socket.CodeCancelled && (asked.withdrawn || asked.cancelled),
		asked.cancelled && r.Result != nil && r.Result.Outcome.Outcome == "cancelled":
		c.load.counts.cancelled.Add(1)
		return nil, nil
	case r.Error != nil && r.Error.Code == socket.CodeBusy:
		c.load.counts.busy.Add(1)
		return nil, nil
	}
	d, err := r.decision()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", asked.describe(), err)
	}
	if err := c.compare(ctx, asked, d); err != nil {
		return nil, fmt.Errorf("wrong answer: %s: %w", asked.describe(), err)
	}
	c.load.count(d)
	c.load.answered.add(d.DecisionID, d.Verdict)
	if c.rand.IntN(sampledOf) == 0 {
		c.load.note(time.Since(asked.sent))
	}
	return d, nil
}

// compare compares a decision with that of the oracle, by the rules that the decision
// names. They must have been in force at some time between request and answer.
func (c *connection) compare(ctx context.Context, asked *request, d *decision) error {
	in := c.load.rules.since(asked.first)
	edition := c.load.oracle.edition(d.Policy.Digest)
	if edition < 0 || !in.has(edition) {
		return fmt.Errorf("decided by edition %d (%s), and only changes %d to %d were in force", edition, d.Policy.Digest, in.first, in.last)
	}
	if d.DecidedBy == string(decisions.ByFailure) && d.Verdict != string(decisions.Allow) {
		c.load.late(d.Reason)
		return nil
	}
	want, err := c.load.oracle.decide(ctx, edition, asked.remembered, &asked.call)
	if err != nil {
		return err
	}
	// A deny of the memory takes the place of one of the rules where these took too long.
	same := d.DecidedBy == string(want.By) || d.Verdict == string(decisions.Deny)
	if d.Verdict != string(want.Verdict) || !same {
		return fmt.Errorf("the answer is %s by %s (%s), the oracle's is %s by %s (%s)", d.Verdict, d.DecidedBy, d.Reason, want.Verdict, want.By, want.Reason)
	}
	return nil
}

// describe returns a request in one line.
func (r *request) describe() string {
	text, err := json.Marshal(r.params)
	if err != nil {
		return r.method
	}
	return fmt.Sprintf("%s %.300s", r.method, text)
}
