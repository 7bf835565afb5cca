package imports

import (
	"fmt"
	"slices"
)

func typeError(what string, n *node) error {
	article := "a"
	if what[0] == 'o' {
		article = "an"
	}
	return fmt.Errorf("%s %s is expected, and there is %s", article, what, n.what())
}

// otherKey notes a key that yields no rule: nothing is left out silently.
func (t *translator) otherKey(m member, known []string) {
	if slices.Contains(known, m.name) {
		t.note(Note{At: t.at(m.line), Text: m.name, Outcome: Remark, Why: "it says nothing of permissions"})
		return
	}
	t.note(Note{At: t.at(m.line), Text: m.name, Outcome: Unknown, Why: "permd does not know this key of " + t.tool.Name()})
}
