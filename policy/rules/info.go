package rules

import (
	"slices"

	"github.com/permd/permd/decisions"
)

// RuleInfo describes one rule.
type RuleInfo struct {
	ID      string          `json:"id"`
	Title   string          `json:"title,omitzero"`
	Layer   decisions.Layer `json:"layer"`
	Set     decisions.Set   `json:"set"`
	At      string          `json:"at"`              // file:line
	Reason  string          `json:"reason,omitzero"` // "" if it is only known when the rule fires
	UID     *uint32         `json:"uid,omitzero"`
	Project string          `json:"project,omitzero"`
}

func (l *Layer) List() []RuleInfo {
	out := make([]RuleInfo, 0, len(l.rules))
	for _, r := range l.rules {
		info := RuleInfo{ID: r.ref.ID, Title: r.ref.Title, Layer: l.Name, Set: r.set, At: r.ref.At}
		if r.fixed != nil {
			info.Reason = r.fixed.reason
		}
		out = append(out, info)
	}
	return slices.Compact(out) // one list entry may be several rules
}

// NumRules is how many rules the layer has, of those that list entries become each.
func (l *Layer) NumRules() int { return len(l.rules) }

// IsEmpty reports whether the layer says nothing, of calls or of programs.
func (l *Layer) IsEmpty() bool { return len(l.rules)+len(l.Programs) == 0 }

// Err returns why the layer is off, nil if it is not: an evaluation could not be ended.
func (l *Layer) Err() error {
	if l.endless() {
		return errEndless
	}
	return nil
}
