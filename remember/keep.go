package remember

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/remember/history"
)

var _ decisions.Keeper = (*Store)(nil)

// Keep stores a person's answer: for an allow the choices of a width, for a
// reject one choice with everything that was asked about. If it cannot be
// stored as requested the error is decisions.ErrNotKept, and nothing is stored.
func (s *Store) Keep(ctx context.Context, a decisions.Answer) ([]decisions.StoredChoice, error) {
	drafts, err := s.draftsOf(a)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", decisions.ErrNotKept, err)
	}
	choices, err := s.Save(ctx, drafts...)
	for _, refusal := range []error{ErrNotRemembered, ErrTooMany, ErrOff, ErrSelfCheck} {
		if errors.Is(err, refusal) {
			return nil, fmt.Errorf("%w: %w", decisions.ErrNotKept, err)
		}
	}
	if err != nil {
		return nil, err
	}
	kept := make([]decisions.StoredChoice, 0, len(choices))
	for i := range choices {
		c := &choices[i]
		if slices.ContainsFunc(kept, func(k decisions.StoredChoice) bool { return k.ID == c.ID }) {
			continue // two effects of the call share a choice
		}
		kept = append(kept, decisions.StoredChoice{
			ID: c.ID, Verdict: c.Verdict, Label: c.fullLabel(),
			Scope: string(c.Scope.Kind), Expires: c.Expires, Unconfirmed: s.Unconfirmed(c),
			Earlier: c.DecisionID != a.DecisionID || a.DecisionID == "" && c.Earlier,
		})
	}
	return kept, nil
}

// Unconfirmed reports whether a choice waits for a person to confirm it.
func (s *Store) Unconfirmed(c *Choice) bool {
	return c.Verdict == decisions.Allow && c.Confirmed.IsZero() && (s.options.ConfirmAll || c.Pins.Guarded)
}

// draftsOf returns drafts of the choices that an answer requests.
func (s *Store) draftsOf(a decisions.Answer) ([]Draft, error) {
	if a.Offer == nil {
		return nil, errors.New("nothing was offered for this question")
	}
	if err := checkExpiry(a.For); err != nil {
		return nil, err
	}
	d := Draft{Verdict: a.Verdict, Scope: ScopeKind(a.Scope), DecisionID: a.DecisionID}
	if a.For > 0 {
		d.Expires = s.now().Add(a.For)
	}
	if a.Scope != "" && d.Scope.rank() == 0 {
		return nil, errors.New("the scopes are session, session+children, project and user")
	}
	switch a.Verdict {
	case decisions.Allow:
		return widthOf(a, d)
	case decisions.Deny:
		if a.Offer.Reject == nil {
			return nil, errors.New("the call has no effect that a reject could be bound to")
		}
		if d.rejects = a.Offer.Reject; d.Scope == "" {
			d.Scope = rejectScope(d.rejects)
		}
		return s.rejectWidthOf(a, d)
	case decisions.Ask:
	}
	return nil, errors.New("only an allow and a reject are remembered")
}

// widthOf returns the choices of a width; d has the fields they share.
func widthOf(a decisions.Answer, d Draft) ([]Draft, error) {
	i := 0
	if a.Width != "" {
		i = slices.IndexFunc(a.Offer.Sets, func(s decisions.OfferSet) bool { return s.ID == a.Width })
	}
	if i < 0 || i >= len(a.Offer.Sets) {
		var ids []string
		for i := range a.Offer.Sets {
			ids = append(ids, a.Offer.Sets[i].ID)
		}
		if ids == nil {
			return nil, errors.New("no width of that id was offered; there is none")
		}
		return nil, fmt.Errorf("no width of that id was offered; there are: %s", strings.Join(ids, ", "))
	}
	set := &a.Offer.Sets[i]
	if d.Scope == "" {
		d.Scope = ScopeKind(set.Scope)
	}
	if d.Scope == "" {
		return nil, errors.New("the call is outside of any project and session: name the scope user")
	}
	var drafts []Draft
	for _, item := range set.Items {
		one := d
		one.Query, one.Level = item.Query, item.Level
		drafts = append(drafts, one)
	}
	return drafts, nil
}

// rejectWidthOf returns the reject of a width; d is the one of the narrowest.
func (s *Store) rejectWidthOf(a decisions.Answer, d Draft) ([]Draft, error) {
	if a.Width == "" {
		return []Draft{d}, nil
	}
	found := false
	var ids []string
	s.eachRejectWidth(d.rejects, func(level int, w *decisions.Width) bool {
		if found = w.ID == a.Width; found {
			d.Level = level
		}
		ids = append(ids, w.ID)
		return !found
	})
	if !found {
		return nil, fmt.Errorf("no width of that id was offered; there are: %s", strings.Join(ids, ", "))
	}
	return []Draft{d}, nil
}

// Drop revokes choices that Keep stored for an answer, see [decisions.StoredNow]. Those that have ended meanwhile are no error.
func (s *Store) Drop(_ context.Context, ids ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*entry
	for _, id := range ids {
		if e := s.byID[id]; e != nil && !slices.Contains(found, e) {
			found = append(found, e)
		}
	}
	if err := s.revoke(found, byPerson); err != nil {
		return err
	}
	if len(found) == 0 {
		return nil
	}
	// If this fails, the change stays in the list as one of which nothing is in force.
	_ = s.write(func(tx *sql.Tx) error {
		for _, e := range found {
			if err := history.Remove(tx, e.choice.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}
