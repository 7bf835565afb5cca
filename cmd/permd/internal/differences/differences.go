// Package differences says by which rule two decisions of one call differ.
package differences

import (
	"fmt"

	"github.com/permd/permd/decisions"
)

// Rule names the rule by which a decision is another one than then, or what does that
// where no rule is named. Both have the same effects.
func Rule(now, then *decisions.Decision) string {
	words := now.Reason
	for pass := range 3 { // what became so, a rule of it, anything that decides
		for i := range now.Effects {
			e := &now.Effects[i]
			became := i >= len(then.Effects) || then.Effects[i].Verdict != e.Verdict
			switch {
			case e.Verdict != now.Verdict || pass < 2 && !became:
			case len(e.Rules) > 0:
				return fmt.Sprintf("%s at %s", e.Rules[0].ID, e.Rules[0].At)
			case pass > 0:
				return e.Reason
			}
		}
	}
	return words
}
