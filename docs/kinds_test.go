package docs

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestKindPlaces compares the section of where-to-change.md about new kinds of effects with
// the code: it names every file that switches on kinds or details of effects, compares
// kinds, or lists them, and no other file. (The linter checks that each switch has all
// kinds.)
func TestKindPlaces(t *testing.T) {
	data, err := os.ReadFile("where-to-change.md")
	if err != nil {
		t.Fatal(err)
	}
	const begin = "## A new kind of effect\n"
	_, section, ok := strings.Cut(string(data), begin)
	if !ok {
		t.Fatalf("where-to-change.md has no section %q", begin)
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
	for _, f := range module(t).files {
		if f.isTest() {
			continue
		}
		if !switchesOnKinds(f.syntax) && !comparesKinds(f.syntax) {
			if named[f.path] && !mentionsKinds(f.syntax) {
				t.Errorf("the section names %s, which has nothing to do with kinds", f.path)
			}
			continue
		}
		found++
		if !named[f.path] {
			t.Errorf("%s has to know a new kind of effect, and the section does not name it", f.path)
		}
	}
	if found < 60 {
		t.Errorf("only %d files with kinds", found)
	}
}

// mentionsKinds reports whether a file contains a kind of effect at all.
func mentionsKinds(f *ast.File) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && (strings.Contains(id.Name, "Kind") || strings.Contains(id.Name, "Detail"))
		return !found
	})
	return found
}

// comparesKinds reports whether a file compares a kind, or has a list or map of two or
// more.
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

// isKind reports whether an expression is a kind of effect or a conversion of one, such
// as string(effects.KindUse).
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

// switchesOnKinds reports whether a case is a kind or a detail of effects.
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
