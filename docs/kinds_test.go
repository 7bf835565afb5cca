package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKindPlaces compares the row of architecture.md about a new kind of effect
// with the code: every switch on kinds or details of effects is in a file that it
// names. (The linter wants all kinds in each.)
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
	for _, top := range []string{"cmd", "decisions", "policy", "remember", "socket"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			if !switchesOnKinds(f) {
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
	if found < 25 {
		t.Errorf("only %d files with a switch on kinds", found)
	}
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
