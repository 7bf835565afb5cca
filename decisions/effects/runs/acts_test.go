package runs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// TestEveryActIsApplied: what a word can mean is considered in apply, and where
// apply hands it on, in the function that it is handed to. The linter does not
// ask for that: most places pick a few of the many.
func TestEveryActIsApplied(t *testing.T) {
	acts := actConstants(t, "../programs/table.go")
	if len(acts) < 50 {
		t.Fatalf("only %d acts were found", len(acts))
	}
	funcs := map[string]*ast.FuncDecl{}
	for _, file := range []string{"acts.go", "transfers.go"} {
		for _, d := range parsed(t, file).Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				funcs[f.Name.Name] = f
			}
		}
	}
	handed := map[string][]string{}
	known := actsOf(t, funcs["apply"], func(act, to string) { handed[to] = append(handed[to], act) })
	for _, act := range acts {
		if !slices.Contains(known, act) {
			t.Errorf("apply does not consider %s", act)
		}
	}
	for _, name := range []string{"applyText", "applyPath", "applyOther"} {
		if len(handed[name]) == 0 {
			t.Errorf("apply hands nothing to %s", name)
		}
		known := actsOf(t, funcs[name], func(string, string) {})
		for _, act := range handed[name] {
			if act != "ActText" && !slices.Contains(known, act) {
				t.Errorf("%s does not consider %s", name, act)
			}
		}
	}
}

func parsed(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// actConstants are the names of the constants of type Act.
func actConstants(t *testing.T, file string) (names []string) {
	for _, d := range parsed(t, file).Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		if first, ok := g.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident); !ok || first.Name != "Act" {
			continue
		}
		for _, s := range g.Specs {
			for _, n := range s.(*ast.ValueSpec).Names {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

// actsOf are the acts that cases of a function name. handed is told of those that
// a case passes to another method.
func actsOf(t *testing.T, f *ast.FuncDecl, handed func(act, to string)) (names []string) {
	t.Helper()
	if f == nil {
		t.Fatal("the function is not there")
	}
	ast.Inspect(f, func(n ast.Node) bool {
		c, ok := n.(*ast.CaseClause)
		if !ok {
			return true
		}
		for _, e := range c.List {
			s, ok := e.(*ast.SelectorExpr)
			if !ok {
				continue
			}
			names = append(names, s.Sel.Name)
			for _, stmt := range c.Body {
				if x, ok := stmt.(*ast.ExprStmt); ok {
					if to, ok := x.X.(*ast.CallExpr).Fun.(*ast.SelectorExpr); ok {
						handed(s.Sel.Name, to.Sel.Name)
					}
				}
			}
		}
		return true
	})
	return names
}
