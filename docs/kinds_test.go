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

// TestKindPlaces compares the section of architecture.md about a new kind of effect
// with the code: every switch on kinds or details of effects, comparison with a kind
// and list of kinds is in a file that it names, and so is no file of Go that has
// nothing to do with kinds. (The linter wants all kinds in each switch.)
func TestKindPlaces(t *testing.T) {
	data, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	const begin = "### A new kind of effect\n"
	_, section, ok := strings.Cut(string(data), begin)
	if !ok {
		t.Fatalf("architecture.md has no section %q", begin)
	}
	section, _, _ = strings.Cut(section, "\n#")
	named := map[string]bool{}
	for line := range strings.SplitSeq(section, "\n") {
		folder := ""
		for _, span := range spans(line) {
			if strings.Contains(span, "/") {
				folder = filepath.Dir(span)
			} else {
				span = filepath.Join(folder, span)
			}
			named[span] = true
		}
	}
	found := 0
	err = filepath.WalkDir("..", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, "../")
		if !switchesOnKinds(f) && !comparesKinds(f) {
			if named[name] && !mentionsKinds(f) {
				t.Errorf("the section names %s, which has nothing to do with kinds", name)
			}
			return nil
		}
		found++
		if !named[name] {
			t.Errorf("%s has to know a new kind of effect, and the section does not name it", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 60 {
		t.Errorf("only %d files with kinds", found)
	}
}

// mentionsKinds reports whether a file has a word for kinds at all.
func mentionsKinds(f *ast.File) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && (strings.Contains(id.Name, "Kind") || strings.Contains(id.Name, "Detail"))
		return !found
	})
	return found
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
