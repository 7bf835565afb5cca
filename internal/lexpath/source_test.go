package lexpath

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOneComparison looks for comparisons of a path with a folder that are not
// made here: strings.HasPrefix(p, dir+"/") and its like. They are wrong for one
// folder or another (/, one with a slash at the end), each in its own way.
func TestOneComparison(t *testing.T) {
	fset, files := token.NewFileSet(), 0
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		for _, at := range comparisons(f) {
			t.Errorf("%s: compare paths with lexpath.In, Below, Rel or RelBelow", fset.Position(at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d files", files)
	}
}

func TestComparisons(t *testing.T) {
	for code, want := range map[string]int{
		`strings.HasPrefix(p, dir+"/")`:                                                     1,
		`bytes.TrimPrefix(p, f(dir)+"/")`:                                                   1,
		`strings.CutPrefix(p, strings.TrimSuffix(dir, "/") + "/")`:                          1,
		`strings.HasPrefix(p, filepath.Clean(dir) + string(filepath.Separator))`:            1,
		`strings.HasPrefix(p + "/", dir + string(os.PathSeparator))`:                        1,
		`strings.HasPrefix(p, "/")`:                                                         0,
		`strings.HasPrefix(p, "https://"+host)`:                                             0,
		`strings.HasSuffix(p, name+"/") || strings.Contains(p, name + "/") || p + "/" > ""`: 0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nvar _ = "+code, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := comparisons(f); len(got) != want {
			t.Errorf("%s: %d, want %d", code, len(got), want)
		}
	}
}

// comparisons returns the calls that look for a prefix to which a slash was added.
func comparisons(f *ast.File) (found []token.Pos) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !strings.HasSuffix(sel.Sel.Name, "Prefix") {
			return true
		}
		if sum, ok := call.Args[1].(*ast.BinaryExpr); ok && sum.Op == token.ADD && isSlash(sum.Y) {
			found = append(found, call.Pos())
		}
		return true
	})
	return found
}

func isSlash(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value == `"/"` || e.Value == "`/`"
	case *ast.CallExpr: // string(filepath.Separator)
		if len(e.Args) == 1 {
			sel, ok := e.Args[0].(*ast.SelectorExpr)
			return ok && strings.HasSuffix(sel.Sel.Name, "Separator")
		}
	}
	return false
}
