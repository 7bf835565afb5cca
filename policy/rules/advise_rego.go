package rules

import (
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/policy/diag"
	"github.com/permd/permd/policy/input"
	"github.com/permd/permd/policy/source"
)

// adviseRules checks the rules that are written in Rego.
func (l *adviser) adviseRules(c *Layer) {
	if c.compiler == nil {
		return
	}
	bodies := bodiesOf(c)
	for n, r := range c.rules {
		b := bodies[n]
		if b == nil || isListed(r.ast) {
			continue
		}
		l.unsatisfiableRules(r.ast, b)
		l.unmatchedPrefixes(b)
		if l.table != nil {
			fields := equalities(b)
			l.shortInArgs(r.set, b, fields["program"], fields["subcommand"])
		}
		if r.set == decisions.SetAllow {
			l.interpreters(c, r.ast, b)
		}
	}
	l.boundaries(c)
	l.shadowedRules(c, bodies)
}

func isListed(r *ast.Rule) bool { return strings.HasSuffix(r.Location.File, source.ListName) }

// bodiesOf returns the compiled bodies of a layer's rules by rule number.
func bodiesOf(c *Layer) map[int]ast.Body {
	out := map[int]ast.Body{}
	for _, r := range c.compiler.GetRulesExact(firedRef(c.Name)) {
		if n, ok := numberOf(r); ok && out[n] == nil {
			out[n] = inlineVariables(r.Body)
		}
	}
	return out
}

// inlineVariables returns a compiled body in which variables are replaced by the fields
// and literals that they equal, close to what the author wrote.
func inlineVariables(body ast.Body) ast.Body {
	means := map[ast.Var]ast.Value{}
	var out ast.Body
	for _, e := range inlineIn(body, means) {
		if _, value := equalTo(e); value == nil {
			out = append(out, e)
		}
	}
	return out
}

// inlineIn does the same for some expressions of a body, given what the
// variables of the expressions before them equal.
func inlineIn(exprs []*ast.Expr, means map[ast.Var]ast.Value) []*ast.Expr {
	out := make([]*ast.Expr, 0, len(exprs))
	for _, e := range exprs {
		e = e.Copy()
		x, err := ast.TransformVars(e, func(v ast.Var) (ast.Value, error) {
			if value := means[v]; value != nil {
				return value, nil
			}
			return v, nil
		})
		if changed, ok := x.(*ast.Expr); ok && err == nil {
			e = changed
		}
		if v, value := equalTo(e); value != nil {
			means[v] = value
		}
		out = append(out, e)
	}
	return out
}

// equalTo returns the field of the input or the literal that an expression
// makes a variable equal to.
func equalTo(e *ast.Expr) (ast.Var, ast.Value) {
	if e.Negated || len(e.With) > 0 || !e.IsCall() || e.Operator().String() != "eq" || len(e.Operands()) != 2 {
		return "", nil
	}
	for i := range 2 {
		v, ok := e.Operand(i).Value.(ast.Var)
		if !ok || !v.IsGenerated() {
			continue
		}
		value := e.Operand(1 - i).Value
		if ref, ok := value.(ast.Ref); ok && ref[0].Equal(ast.InputRootDocument) && ref.IsGround() || ast.IsConstant(value) {
			return v, value
		}
	}
	return "", nil
}

// equalities returns the fields of the effect that a body compares with
// literals, each with the words of which it must be one.
func equalities(b ast.Body) map[string][][]string {
	out := map[string][][]string{}
	for _, e := range b {
		if e.Negated || !e.IsCall() || len(e.With) > 0 || len(e.Operands()) < 2 {
			continue
		}
		field, words := "", []string(nil)
		x, y := e.Operand(0), e.Operand(1)
		switch e.Operator().String() {
		case "eq", "equal":
			if _, ok := x.Value.(ast.Ref); !ok {
				x, y = y, x
			}
			field, words = effectField(x), literals(y)
		case "internal.member_2":
			field, words = effectField(x), literals(y)
		}
		if field != "" && len(words) > 0 {
			out[field] = append(out[field], words)
		}
	}
	return out
}

// effectField returns the field of the effect that a term is, as a whole.
func effectField(t *ast.Term) string {
	ref, ok := t.Value.(ast.Ref)
	if !ok || len(ref) != 3 {
		return ""
	}
	field, _ := input.Field(ref)
	return field
}

// impossibleValues lists values that a field never has, with what to write instead.
var impossibleValues = map[string]func(word string) (why, hint string){
	"program": func(w string) (string, string) {
		dir, _, path := strings.Cut(strings.TrimPrefix(w, "/usr"), "/bin/")
		if path && (dir == "" || dir == "/local") && strings.HasPrefix(w, "/") {
			return "a program in a system folder goes by its name", "compare input.effect.executable, or the name alone"
		}
		if strings.Contains(w, "/") && !strings.HasPrefix(w, "/") {
			return "a program that is a path is an absolute one", "write the absolute path, or concat it with input.project.root"
		}
		return notGlob(w)
	},
	"path": absolute,
	"cwd":  absolute,
	"host": func(w string) (string, string) {
		if strings.ToLower(w) != w {
			return "a host is in lower case", "write it in lower case"
		}
		if ascii, err := idna.Lookup.ToASCII(w); err == nil && ascii != w {
			return "a host is written in ASCII", "write " + ascii
		}
		if strings.ContainsAny(w, "/:") && !strings.Contains(w, "::") {
			return "a host has no scheme, port or path", "compare input.effect.scheme and input.effect.port as well"
		}
		return notGlob(w)
	},
	"project_path": func(w string) (string, string) {
		if strings.HasPrefix(w, "/") || strings.HasPrefix(w, "./") || strings.HasPrefix(w, "~") {
			return "it is the path from the project's root", "write it as docs/a.md"
		}
		return notGlob(w)
	},
}

func absolute(w string) (string, string) {
	if w != "" && !strings.HasPrefix(w, "/") {
		return "it is an absolute path", "compare input.effect.project_path or input.effect.home_path"
	}
	return notGlob(w)
}

func notGlob(w string) (string, string) {
	if strings.Contains(w, "*") {
		return "a * stands for itself here", `use glob.match(pattern, ["/"], field), startswith or endswith`
	}
	return "", ""
}

// unsatisfiableRules finds rules that cannot fire.
func (l *adviser) unsatisfiableRules(r *ast.Rule, b ast.Body) {
	fields := equalities(b)
	for field, all := range fields {
		both := all[0]
		for _, words := range all[1:] {
			both = slices.DeleteFunc(slices.Clone(both), func(w string) bool { return !slices.Contains(words, w) })
		}
		if len(both) == 0 {
			l.found.Add(locationPlace(r.Location), diag.SeverityWarning, "write a rule for each",
				"the rule never fires: input.effect.%s cannot be %s at once", field, quoteNames(slices.Concat(all...)))
			continue
		}
		if check := impossibleValues[field]; check != nil {
			for _, w := range both {
				if why, hint := check(w); why != "" {
					l.found.Add(locationPlace(r.Location), diag.SeverityWarning, hint, "input.effect.%s is never %q: %s", field, w, why)
				}
			}
		}
	}
	if l.table == nil {
		return
	}
	for _, programs := range fields["program"] {
		for _, p := range programs {
			switch {
			case l.table.Transparent(p):
				l.found.Add(locationPlace(r.Location), diag.SeverityWarning, "name the program that it runs",
					"input.effect.program is never %q: it only runs another program, and that is the run which rules see", p)
			case !l.table.Knows(p) && !strings.Contains(p, "/") && !strings.Contains(p, "*"):
				if near := similarNames(p, l.table.Names()); len(near) > 0 {
					l.found.Add(locationPlace(r.Location), diag.SeverityNote, "did you mean "+strings.Join(near, " or ")+"?", "permd does not know the program %q", p)
				}
			}
			if len(programs) == 1 {
				l.flags(b, p, fields["subcommand"])
			}
		}
	}
	if l.profiles == nil || !slices.ContainsFunc(fields["server"], func(w []string) bool { return slices.Equal(w, []string{""}) }) && fields["server"] != nil {
		return
	}
	for _, tools := range fields["tool"] {
		for _, tool := range tools {
			if l.profiles.Own(tool) {
				l.found.Add(locationPlace(r.Location), diag.SeverityWarning, "test what its calls do: run, read, write, delete or connect effects",
					"%q is an agent's own tool, and permd sees what its calls do", tool)
			}
		}
	}
}

// flags finds tests for a spelling of an option that never occurs in flags.
func (l *adviser) flags(b ast.Body, program string, subcommands [][]string) {
	sub := ""
	if len(subcommands) == 1 && len(subcommands[0]) == 1 {
		sub = subcommands[0][0]
	}
	for _, e := range b {
		if !e.IsCall() || e.Operator().String() != "internal.member_2" || effectField(e.Operand(1)) != "flags" {
			continue
		}
		for _, option := range literals(e.Operand(0)) {
			if name, ok := l.table.Flag(program, sub, option); ok && name != option {
				l.found.Add(locationPlace(e.Location), diag.SeverityWarning, "write "+name,
					"input.effect.flags of %s never has %q: permd calls the option %s", program, option, name)
			}
		}
	}
}

// interpreters finds allows of programs that run anything, anywhere.
func (l *adviser) interpreters(c *Layer, r *ast.Rule, b ast.Body) {
	if l.table == nil || hasRestriction(c, b, maxHelpers) {
		return
	}
	var wide []string
	for _, names := range equalities(b)["program"] {
		for _, p := range names {
			if l.table.Runs(p) != programs.RunsItself && !l.table.Transparent(p) {
				wide = append(wide, p)
			}
		}
	}
	if len(wide) > 0 {
		l.found.Add(locationPlace(r.Location), diag.SeverityWarning, "test input.effect.args or input.effect.script as well",
			"the rule allows %s with any words, and these programs run others, or any code they are given", quoteNames(wide))
	}
}

// hasRestriction reports whether conditions, or the helpers they call, restrict what
// runs or in which project.
func hasRestriction(c *Layer, x any, depth int) bool {
	found := false
	ast.WalkRefs(x, func(ref ast.Ref) bool {
		if field, ok := input.Field(ref); ok {
			found = found || slices.Contains([]string{"args", "script", "subcommand", "text", "readonly", "harmless_from", "harmful"}, field)
		} else if ref[0].Equal(ast.InputRootDocument) && len(ref) > 1 {
			found = found || ref[1].Equal(ast.StringTerm("project"))
		} else if depth > 0 {
			for _, helper := range c.helpers(ref) {
				found = found || hasRestriction(c, helper.Body, depth-1)
			}
		}
		return found
	})
	return found
}

// shadowedRules finds rules that have all the conditions of a stricter rule, or
// of one in the same set, and more.
func (l *adviser) shadowedRules(c *Layer, bodies map[int]ast.Body) {
	const limit = 500 // all pairs are compared
	tests := map[int][]string{}
	for n, r := range c.rules {
		if len(tests) == limit {
			break
		}
		if t := testsOf(bodies[n]); t != nil && !isListed(r.ast) {
			tests[n] = t
		}
	}
	for n, r := range c.rules {
		for m, o := range c.rules {
			if n == m || tests[n] == nil || tests[m] == nil || !stricter(o.set, r.set) && o.set != r.set {
				continue
			}
			if !subset(tests[m], tests[n]) || o.set == r.set && (len(tests[m]) == len(tests[n]) && m > n || o.fixed == nil || r.fixed == nil) {
				continue
			}
			if o.set == r.set {
				if o.fixed.weaker(r.fixed) {
					continue // this one covers more
				}
				l.found.Add(locationPlace(r.ast.Location), diag.SeverityNote, "leave it out", "the rule says nothing more than the one at %s, which always fires with it", o.ref.At)
			} else {
				l.found.Add(locationPlace(r.ast.Location), diag.SeverityWarning, "leave it out, or add a condition to the other one",
					"the rule never counts: the %s at %s fires whenever it does, and is stricter", o.set, o.ref.At)
			}
			break
		}
	}
}

// weaker reports whether an element says less than another one: it covers less,
// or leaves more to memory.
func (e *element) weaker(o *element) bool {
	return o.covers&^e.covers != 0 || o.coversUnknown && !e.coversUnknown || o.coversOnlyNamed && !e.coversOnlyNamed || o.message != "" && o.message != e.message ||
		o.remember != nil && (e.remember == nil || *e.remember != *o.remember)
}

// testsOf returns the conditions of a body as text, or nil if one of them has
// variables of its own, which cannot be compared as text.
func testsOf(b ast.Body) []string {
	var out []string
	for _, e := range b {
		plain := true
		ast.WalkVars(e, func(v ast.Var) bool {
			plain = plain && (!v.IsGenerated() && !v.IsWildcard())
			return !plain
		})
		if !plain {
			return nil
		}
		out = append(out, e.String())
	}
	return out
}

func subset(a, b []string) bool {
	return len(a) > 0 && !slices.ContainsFunc(a, func(x string) bool { return !slices.Contains(b, x) })
}
