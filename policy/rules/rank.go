package rules

import "cmp"

// Ranks of rules without regard to the precision of list entries, which stays below the
// distance between them.
const (
	rankTold    = 1 << 20 // a list entry that says why
	rankRego    = 2 << 20 // a rule in Rego
	rankListed  = 3 << 20 // a list entry that says nothing
	rankGeneral = 4 << 20 // a rule that calls itself general
)

// rankRules orders the rules of a layer by how much their reasons say about a call. When
// several fire for an effect, the first of them gives the reason of the answer
// (docs/policy.md, "Whose reason is shown").
func rankRules(rules []*rule, lists []listEntry) {
	type place struct {
		at     string
		column int
	}
	entries := map[place]*listEntry{}
	for i := range lists {
		e := &lists[i]
		entries[place{e.ref.At, e.Column}] = e
	}
	for _, r := range rules {
		e := entries[place{r.ref.At, r.ast.Location.Col}]
		r.inList = e != nil
		switch {
		case r.general:
			r.rank = rankGeneral
		case e == nil:
			r.rank = rankRego
		case e.Reason != "":
			r.rank = rankTold - e.Pattern.Precision()
		default:
			r.rank = rankListed - e.Pattern.Precision()
		}
	}
}

// compareRules compares two rules of the layer by rank, then by their order.
func (l *Layer) compareRules(a, b int) int {
	return cmp.Or(cmp.Compare(l.rules[a].rank, l.rules[b].rank), cmp.Compare(a, b))
}
