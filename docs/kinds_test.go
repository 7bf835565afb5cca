package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestKindPlaces compares the row of architecture.md about a new kind of effect
// with the code: every switch on kinds or details of effects, comparison with a kind
// and list of kinds is in a file that it names. (The linter wants all kinds in each
// switch.) The comparisons of bench/programs and bench/shells are about single
// programs.
func TestKindPlaces(t *testing.T) {
	data, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	const begin = "| a new kind of effect |"
	_, row, ok := strings.Cut(string(data), begin)
	if !ok {
		t.Fatalf("architecture.md has no row %q", begin)
	}
	row, _, _ = strings.Cut(row, "\n")
	named := map[string]bool{}
	folder := ""
	for _, span := range spans(row) {
		if strings.Contains(span, "/") {
			folder = filepath.Dir(span)
		} else {
			span = filepath.Join(folder, span)
		}
		named[span] = true
	}
	found := 0
	for _, top := range []string{"cmd", "decisions", "policy", "remember", "socket", "bench/judgement"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			if !switchesOnKinds(f) && !comparesKinds(f) {
				return nil
			}
			found++
			if name := strings.TrimPrefix(path, "../"); !named[name] {
				t.Errorf("%s has to know a new kind of effect, and the row does not name it", name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 60 {
		t.Errorf("only %d files with kinds", found)
	}
}

// comparesKinds reports whether something is compared with a kind, or a list or a
// map has two of them.
func comparesKinds(f *ast.File) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			found = found || (n.Op == token.EQL || n.Op == token.NEQ) && (isKind(n.X) || isKind(n.Y))
		case *ast.CompositeLit:
			kinds := 0
			for _, e := range n.Elts {
				if member, ok := e.(*ast.KeyValueExpr); ok {
					e = member.Key
				}
				if isKind(e) {
					kinds++
				}
			}
			found = found || kinds > 1
		}
		return !found
	})
	return found
}

// isKind reports whether an expression is the name of a kind of effect, or is made
// of one, as in string(effects.KindUse).
func isKind(e ast.Expr) bool {
	if c, ok := e.(*ast.CallExpr); ok && len(c.Args) == 1 {
		e = c.Args[0]
	}
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); !ok || x.Name != "effects" {
			return false // reflect.KindOf and the like
		}
		e = s.Sel
	}
	id, ok := e.(*ast.Ident)
	if !ok {
		return false
	}
	name, ok := strings.CutPrefix(id.Name, "Kind")
	return ok && slices.Contains(effects.Kinds, effects.Kind(strings.ToLower(name)))
}

// switchesOnKinds reports whether a case names a kind, or none of the details.
func switchesOnKinds(f *ast.File) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		c, ok := n.(*ast.CaseClause)
		if !ok {
			return !found
		}
		for _, e := range c.List {
			if s, ok := e.(*ast.SelectorExpr); ok {
				e = s.Sel
			}
			if id, ok := e.(*ast.Ident); ok && (id.Name == "KindQuestion" || id.Name == "NoDetail") {
				found = true
			}
		}
		return !found
	})
	return found
}
