// Package differences says by which rule two decisions of one call differ.
package differences

import (
	"fmt"

	"github.com/permd/permd/decisions"
)

// Rule returns the rule that makes now differ from then, as ID at PLACE, or the reason if no rule
// does. Both decisions must have the same effects.
func Rule(now, then *decisions.Decision) string {
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
	return now.Reason
}
