package projection

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/internal/lazy"
	"github.com/permd/permd/policy/input"
)

// join notes that a variable has the words of a run as lists join them:
// concat("", pieces, name).
func (s *scope) join(e *ast.Expr) ([]step, bool) {
	name, ok := e.Operand(2).Value.(ast.Var)
	list := s.operand(e.Operand(1)).subject
	if e.Negated || e.Operator().String() != "concat" || !ok || s.seen[name] ||
		!e.Operand(0).Equal(ast.StringTerm("")) || list == nil || list.form != pieces {
		return nil, false
	}
	words := subject{field: list.field, form: joined}
	s.values[name] = operand{subject: &words}
	return []step{{test: &test{subject: words, op: defined, cost: joinCost}}}, true
}

// isPieces reports whether a term is the comprehension by which lists prepare the
// words of a run, as the compiler leaves it.
func isPieces(t *ast.Term) bool {
	if _, ok := t.Value.(*ast.ArrayComprehension); !ok {
		return false
	}
	names := map[string]string{}
	return localName().ReplaceAllStringFunc(t.String(), func(name string) string {
		if names[name] == "" {
			names[name] = fmt.Sprintf("v%d", len(names))
		}
		return names[name]
	}) == `[v0 | v1 = input.effect.args[v2]; replace(v1, "\x00", "\x01", v3); concat("", ["\x00", v3], v4); v0 = v4]`
}

var localName = lazy.Regexp(`__local\d+__`)

var argsPart, _, _ = input.Exactly(ast.MustParseRef("input.effect.args"))
