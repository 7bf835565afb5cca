package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/client"
)

// maxAnswered is how many of the latest decisions are looked for in the journal.
const maxAnswered = 20_000

// answered holds the latest decisions that clients were answered.
type answered struct {
	mu       sync.Mutex
	verdicts map[string]string // by the decision's id
	ids      []string          // a ring
	next     int
	twice    string // a decision that was an answer twice
}

func newAnswered(size int) *answered {
	return &answered{verdicts: map[string]string{}, ids: make([]string, size)}
}

// add takes in a decision.
func (a *answered) add(id, verdict string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.verdicts[id]; ok {
		a.twice = id
	}
	delete(a.verdicts, a.ids[a.next])
	a.ids[a.next], a.verdicts[id] = id, verdict
	a.next = (a.next + 1) % len(a.ids)
}

// checkJournal checks that the journal has the latest decisions as they were answered.
func (l *load) checkJournal(ctx context.Context) error {
	a := l.answered
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.twice != "" {
		return fmt.Errorf("the decision %s was the answer to two requests", a.twice)
	}
	c, err := client.Dial(ctx, l.daemon.admin(), client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	// What was cancelled, or is no decision of this load, is between them.
	most := 3*len(a.verdicts) + 10*admin.MaxList
	for before, seen := int64(0), 0; len(a.verdicts) > 0 && seen < most; {
		var page admin.Records
		if err := c.Call(ctx, admin.MethodList, decisions.RecordFilter{Before: before}, &page); err != nil {
			return fmt.Errorf("listing decisions: %w", err)
		}
		if len(page.Records) == 0 {
			break
		}
		for _, r := range page.Records {
			want, ok := a.verdicts[r.Decision.ID]
			if ok && want != string(r.Decision.Verdict) {
				return fmt.Errorf("the answer to decision %s was %s, the journal says %s", r.Decision.ID, want, r.Decision.Verdict)
			}
			delete(a.verdicts, r.Decision.ID)
		}
		seen += len(page.Records)
		before = page.Records[0].Seq
	}
	for id, verdict := range a.verdicts {
		return fmt.Errorf("the journal lacks %d answers, such as decision %s: %s", len(a.verdicts), id, verdict)
	}
	return nil
}
