package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/tally"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/socket"
)

// Tally are the params of tally: a filter, what is counted by, and the starts of days.
type Tally struct {
	Selected decisions.RecordFilter `json:"filter"`
	By       []tally.By             `json:"by"`
	Starts   []time.Time            `json:"starts,omitzero"` // ascending; the last is the end of the last day
}

// MaxStarts is the maximum number of starts of days.
const MaxStarts = 1100

// Tallies is the result of tally, or a part of it: the next one is counted with Next as the
// filter's before.
type Tallies struct {
	Groups []tally.Group `json:"groups"`
	Next   int64         `json:"next,omitzero"`
	Left   int64         `json:"left,omitzero"`
}

func registerTally(m socket.Methods, d *Deps) {
	m[MethodTally] = func(c *socket.Conn, params strictjson.Value) (run, error) {
		var p Tally
		if err := decode(params, &p); err != nil {
			return nil, err
		}
		if _, err := checked(p.Selected); err != nil {
			return nil, err
		}
		switch {
		case len(p.By) == 0 || len(p.By) > len(tally.Chosen)+1 || slices.ContainsFunc(p.By, func(by tally.By) bool {
			return by != tally.Answer && by != tally.Host && by != tally.Act && !slices.Contains(tally.Chosen, by)
		}):
			return nil, invalidParams("by must name groupings")
		case len(p.Starts) > MaxStarts:
			return nil, invalidParams(fmt.Sprintf("there must be at most %d starts", MaxStarts))
		case !slices.IsSortedFunc(p.Starts, time.Time.Compare):
			return nil, invalidParams("starts must be ascending")
		}
		p.Selected.UID = d.readable(c)
		return func(ctx context.Context) (any, error) {
			t, err := d.Log.Tally(ctx, p.Selected, p.By, p.Starts)
			if err != nil {
				return nil, fmt.Errorf("reading the journal: %w", err)
			}
			t.Groups = append([]tally.Group{}, t.Groups...)
			return t, nil
		}, nil
	}
}

// follow returns the records after f.After that match the filter, as soon as there are
// any. After followWait it returns none, and the client calls again.
func follow(ctx context.Context, log Log, f decisions.RecordFilter) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, followWait)
	defer cancel()
	seen := f.After
	for {
		got, err := log.Page(ctx, f)
		if len(got.Records) > 0 || err != nil && ctx.Err() == nil {
			return got, err
		}
		if got.Next > 0 { // records that the filter does not select were read
			f.After = got.Next
			continue
		}
		if err := log.Wait(ctx, seen); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				return none(), nil
			}
			return nil, fmt.Errorf("waiting for the journal: %w", err)
		}
		// The new records may not match the filter: wait for later ones.
		newest, err := log.Page(ctx, decisions.RecordFilter{Limit: 1})
		if err != nil || len(newest.Records) == 0 {
			return none(), err
		}
		if got, err = log.Page(ctx, f); len(got.Records) > 0 || err != nil {
			return got, err
		}
		if got.Next == 0 {
			seen = newest.Records[0].Seq
		}
	}
}

func list(ctx context.Context, log Log, f decisions.RecordFilter) (any, error) {
	got, err := log.Page(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	if got.Records == nil {
		got.Records = none().Records
	}
	return got, nil
}

func none() Records { return Records{Records: []*decisions.Record{}} }

func filter(params strictjson.Value) (decisions.RecordFilter, error) {
	var f decisions.RecordFilter
	if err := decode(params, &f); err != nil {
		return f, err
	}
	return checked(f)
}

// checked returns a filter with its limit, or what is wrong with it.
func checked(f decisions.RecordFilter) (decisions.RecordFilter, error) {
	switch {
	case f.Limit < 0 || f.Limit > MaxList:
		return f, invalidParams(fmt.Sprintf("limit must be between 0 and %d", MaxList))
	case f.Verdict != "" && f.Verdict != decisions.Allow && f.Verdict != decisions.Ask && f.Verdict != decisions.Deny:
		return f, invalidParams("verdict must be allow, ask or deny")
	}
	if f.Limit == 0 {
		f.Limit = MaxList
	}
	return f, nil
}
