package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/policy/restrictions"
)

// restrictions returns the restrictions set by the organisation, nil if there are none.
func (st *state) restrictions() *restrictions.Restrictions {
	if r := &st.switches.Restrictions; !r.None() {
		return r
	}
	return nil
}

// Restrictions returns what the organisation forbids beside its rules, nil for nothing. It is
// the same for as long as nothing has changed. table is the program table without what
// people say of programs.
func (s *Store) Restrictions() (r *restrictions.Restrictions, table *programs.Table) {
	st := s.state.Load()
	if r = st.restrictions(); r == nil {
		return nil, nil
	}
	return r, s.tableOf(st.org)
}

// Lock returns why the organisation has everything ask, "" if it does not.
func (s *Store) Lock() string { return s.state.Load().switches.Restrictions.Lock }

// missing returns the error for a layer that has no rules although the organisation requires
// some, nil if there is none. layers are nil where there is no such layer.
func missing(r *restrictions.Restrictions, layers []*layerState) error {
	if r == nil {
		return nil
	}
	for _, required := range r.RequireLayers {
		if !slices.ContainsFunc(layers, func(n *layerState) bool { return n != nil && n.layer == required && !n.hasNoRules() }) {
			return fmt.Errorf("the organisation requires rules of %s, and there are none (require_layers)", required)
		}
	}
	return nil
}

// hasNoRules reports whether a layer is known to have no rules.
func (n *layerState) hasNoRules() bool { return n.active != nil && n.active.NumRules() == 0 }

// restricts says what the organisation forbids, a sentence for each setting.
func (st *state) restricts() []string {
	list := st.switches.Restrictions.Sentences()
	for i, text := range list {
		if !strings.HasSuffix(text, "(require_layers)") {
			continue
		}
		for uid, n := range st.users {
			if missing(st.restrictions(), []*layerState{st.org, n}) != nil {
				list[i] += fmt.Sprintf("; without, every call of uid %d fails", uid)
			}
		}
	}
	return list
}
