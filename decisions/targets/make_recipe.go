package targets

import (
	"slices"
	"strings"
)

// readRecipe reads a line of a recipe.
func (m *makefile) readRecipe(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	if !m.inRule {
		m.notPlain("a line with a tab that belongs to no rule")
		return
	}
	if len(m.conds) > 0 {
		// Where the condition does not hold, the rule is none, and a line with a tab no recipe.
		words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '#' })
		if len(words) > 0 && slices.Contains([]string{"else", "endif", "ifeq", "ifneq", "ifdef", "ifndef"}, words[0]) {
			m.notPlain("a line with a tab that ends a condition")
			return
		}
	}
	for _, r := range m.recipe {
		r.hasRecipe = r.hasRecipe || len(m.conds) == 0
	}
	m.checkText(line)
	if listed := strings.ReplaceAll(line, "$(MAKEFILE_LIST)", ""); makeAgain().MatchString(listed) && !makeEchoes().MatchString(line) {
		m.runsMake(line)
	}
}

// runsMake reads a line of a recipe that runs make: only for goals of the same makefile.
func (m *makefile) runsMake(line string) {
	for part := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ';' || r == '&' }) {
		switch goals := makeSame().FindStringSubmatch(part); {
		case goals == nil && (makeAgain().MatchString(part) || changesCwd().MatchString(part)):
			m.notPlain("a recipe runs make: " + clipped(line))
		case goals != nil:
			m.goals = append(m.goals, strings.Fields(goals[2])...)
		}
	}
}
