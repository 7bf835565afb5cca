package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
	"github.com/permd/permd/socket/admin"
	"github.com/permd/permd/socket/native"
)

// Preview counts what choices would have matched. Nothing is stored.
func (m choices) Preview(ctx context.Context, uid *uint32, of uint32, p admin.PreviewParams) ([]admin.Preview, error) {
	var list []admin.Preview
	var trials []*remember.Trial
	add := func(v admin.Preview, t *remember.Trial, err error) {
		v.Choices = []admin.Choice{}
		switch {
		case err != nil:
			v.Refused = plainRefusal(err)
		default:
			for i := range t.Choices {
				v.Choices = append(v.Choices, m.wire(&t.Choices[i]))
			}
		}
		list, trials = append(list, v), append(trials, t)
	}
	switch {
	case p.Add != nil:
		t, err := m.tryLine(ctx, of, p.Add)
		add(admin.Preview{}, t, err)
	case p.Change != nil:
		for _, id := range p.Change.IDs {
			c, err := m.d.memory.Get(id)
			var change remember.Change
			if err == nil {
				change, err = m.changeOf(c.UID, p.Change)
			}
			var t *remember.Trial
			if err == nil {
				t, err = m.d.memory.TryChange(id, change)
			}
			add(admin.Preview{}, t, err)
		}
	default:
		open := append(m.d.engine.Persistent.Questions(uid), m.d.engine.Waiting.Questions(uid)...)
		for _, id := range p.DecisionIDs {
			i := slices.IndexFunc(open, func(o native.OpenQuestion) bool { return o.Decision.ID == id })
			if i < 0 {
				return nil, admin.ErrNoQuestion
			}
			d := open[i].Decision
			verdict, widths := cmp.Or(p.Verdict, decisions.Allow), d.Widths
			if verdict == decisions.Deny {
				widths = rejectWidths(m.d.memory, d)
			}
			for _, w := range widths {
				t, err := m.d.memory.TryAnswer(decisions.Answer{DecisionID: id, Verdict: verdict, Offer: d.Offer, Width: w.ID, Scope: p.Scope})
				add(admin.Preview{DecisionID: id, Width: w.ID}, t, err)
			}
		}
	}
	if err := m.count(ctx, list, trials); err != nil {
		if ctx.Err() == nil { // else nobody waits any more
			m.d.log.Warn("what choices would have matched cannot be counted", "error", err)
		}
		return nil, err
	}
	return list, nil
}

// count sets the counts of previews; a trial is nil for one that is refused.
func (m choices) count(ctx context.Context, list []admin.Preview, trials []*remember.Trial) error {
	some := slices.DeleteFunc(slices.Clone(trials), func(t *remember.Trial) bool { return t == nil })
	counts, err := m.d.preview.Count(ctx, some...)
	if err != nil {
		return err
	}
	for i := range list {
		if trials[i] == nil {
			continue
		}
		c := counts[0]
		counts = counts[1:]
		list[i].Matched, list[i].Requests, list[i].Denied, list[i].Unknown = c.Matched, c.Requests, c.Denied, c.Unknown
	}
	return nil
}

// tryLine returns what a line would be stored as.
func (m choices) tryLine(ctx context.Context, uid uint32, n *admin.NewChoice) (*remember.Trial, error) {
	l, err := m.lineOf(uid, n)
	if err != nil {
		return nil, err
	}
	t, err := m.d.memory.TryLine(l)
	if !errors.Is(err, remember.ErrNotRemembered) || l.Kind != effects.KindRun || l.Verdict != decisions.Allow {
		return t, err
	}
	answer, earlier, why := m.boundAnswer(ctx, uid, *n, l.For)
	switch {
	case why != nil:
		return nil, fmt.Errorf("%w; %w", err, why)
	case answer == nil && len(earlier) > 0:
		t, err = m.d.memory.TryChange(earlier[0].ID, remember.Change{})
		if err == nil {
			t.Choices[0].ID, t.Choices[0].Earlier = earlier[0].ID, true
		}
		return t, err
	case answer == nil:
		return nil, err
	}
	return m.d.memory.TryAnswer(*answer)
}

// plainRefusal is why something is not remembered, said once.
func plainRefusal(err error) string {
	text := err.Error()
	for _, prefix := range []error{admin.ErrRefused, decisions.ErrNotKept, remember.ErrNotRemembered} {
		text = strings.TrimPrefix(text, prefix.Error()+": ")
	}
	return text
}
