package admin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/decisions"
)

// ChoiceQuery says which part of which choices a list has. What is empty selects all.
type ChoiceQuery struct {
	// After is the id of the choice that the part follows; the list begins where there is none
	// of that id.
	After string `json:"after,omitzero"`
	// Limit is the maximum number of choices in the part, MaxList if 0.
	Limit int `json:"limit,omitzero"`
	// Newest is set for a list that begins with the newest choice, not the oldest.
	Newest bool `json:"newest,omitzero"`
	// Authors is set for a list whose choices have their Author, for which the log is read.
	Authors bool `json:"authors,omitzero"`
	ChoiceFilter
}

// ChoiceFilter selects choices: those that all of its members fit.
type ChoiceFilter struct {
	ID      string            `json:"id,omitzero"`   // what the id begins with
	Kind    string            `json:"kind,omitzero"` // of one of its effects
	Verdict decisions.Verdict `json:"verdict,omitzero"`
	Scope   string            `json:"scope,omitzero"`
	Project string            `json:"project,omitzero"` // a folder, of choices for its project
	// Agent and Tool are those of the question that the choice answered, as the log has it. A
	// choice that was added in words has none.
	Agent string `json:"agent,omitzero"`
	Tool  string `json:"tool,omitzero"`
	// Text is in one of the rules, or in the project or session that the choice is for.
	Text string `json:"text,omitzero"`
	// These are marks of choices, see Choice; ExpiringIn is set for those that expire within so
	// many seconds.
	Dormant     bool  `json:"dormant,omitzero"`
	Covered     bool  `json:"covered,omitzero"`
	Useless     bool  `json:"useless,omitzero"` // a deny of org's lists denies all that it matches
	Wider       bool  `json:"wider,omitzero"`   // than what it was used for, as far as that is known in time
	Unconfirmed bool  `json:"unconfirmed,omitzero"`
	Changed     bool  `json:"changed,omitzero"`
	ExpiringIn  int64 `json:"expiringIn,omitzero"`
}

// Empty reports whether the filter selects all choices.
func (f *ChoiceFilter) Empty() bool { return *f == ChoiceFilter{} }

// maxFilterText bounds a text of a filter, in bytes.
const maxFilterText = 4096

func (q *ChoiceQuery) check() error {
	switch {
	case q.Limit < 0 || q.Limit > MaxList:
		return invalidParams(fmt.Sprintf("limit must be between 0 and %d", MaxList))
	case q.ExpiringIn < 0:
		return invalidParams("expiringIn must not be negative")
	case q.Verdict != "" && q.Verdict != decisions.Allow && q.Verdict != decisions.Deny:
		return invalidParams("verdict must be allow or deny")
	}
	for _, text := range []string{q.ID, q.Kind, q.Scope, q.Project, q.Agent, q.Tool, q.Text} {
		if len(text) > maxFilterText {
			return invalidParams(fmt.Sprintf("a text of a filter must have at most %d bytes", maxFilterText))
		}
	}
	return nil
}

// FitsUnmarked reports whether a choice fits all members of a filter but marks and what the log
// has, and its expiry.
func (f *ChoiceFilter) FitsUnmarked(c *Choice) bool {
	if !strings.HasPrefix(c.ID, f.ID) || f.Verdict != "" && f.Verdict != c.Verdict || f.Scope != "" && f.Scope != c.Scope ||
		f.Project != "" && (c.Scope != "project" || c.Of != f.Project) || f.Changed && c.Changed == "" {
		return false
	}
	// An allow of an earlier permd may wait for what confirming it does, too.
	if f.Unconfirmed && !c.Unconfirmed && c.Changed == "" {
		return false
	}
	if f.Kind == "" && f.Text == "" || f.Kind == "" && strings.Contains(c.Of, f.Text) {
		return true
	}
	fits := func(kind, rule string) bool {
		return (f.Kind == "" || f.Kind == kind) && (f.Text == "" || strings.Contains(rule, f.Text))
	}
	if len(c.Parts) == 0 {
		return fits(c.Kind, c.Rule)
	}
	return slices.ContainsFunc(c.Parts, func(p ChoicePart) bool { return fits(p.Kind, p.Rule) })
}

// FitsMarked reports whether a choice that is marked fits the marks of a filter.
func (f *ChoiceFilter) FitsMarked(c *Choice) bool {
	return (!f.Dormant || c.Dormant) && (!f.Covered || c.CoveredBy != "") && (!f.Useless || c.DeniedBy != "") && (!f.Wider || c.UsedFor != nil)
}
