package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// target is a fuzz target.
type target struct {
	pkg  string // the folder of its package in the repository, with slashes
	name string // FuzzX
}

func (t target) String() string { return t.pkg + "." + t.name }

// findTargets returns all fuzz targets below a folder, sorted, as go test finds them:
// functions of test files whose names begin with Fuzz.
func findTargets(root string) (list []target, err error) {
	holds := func(dir, name string, text []byte) bool {
		return strings.HasSuffix(name, "_test.go") && bytes.Contains(text, []byte("func Fuzz"))
	}
	err = eachFile(root, holds, func(dir string, file *ast.File) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && isFuzz(f) {
				list = append(list, target{dir, f.Name.Name})
			}
		}
	})
	slices.SortFunc(list, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return list, err
}

// isFuzz reports whether a function has the name and the parameter of a fuzz target.
func isFuzz(f *ast.FuncDecl) bool {
	params := f.Type.Params.List
	if !strings.HasPrefix(f.Name.Name, "Fuzz") || len(params) != 1 {
		return false
	}
	star, ok := params[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "F"
}

// eachFile parses the Go files below a folder that are wanted, whatever their build
// constraints are. wanted is given the folder, in the repository, name and text of each.
func eachFile(root string, wanted func(dir, name string, text []byte) bool, f func(dir string, file *ast.File)) error {
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() {
			if path != root && (name == "testdata" || name == "vendor" || name == "node_modules" || name[0] == '.' || name[0] == '_') {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if dir = filepath.ToSlash(dir); !wanted(dir, name, text) {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		f(dir, file)
		return nil
	})
}
