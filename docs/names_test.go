package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRenamed looks for names that were given up in favour of the field's terms:
// testdata/renamed.txt has a folder, an old name and its new one in each line, and
// no file of the folder or below it declares the old one. Comments there, those of
// tests too, do not use it either where it cannot be a plain English word: it has an
// inner capital, as in lookFile, or the line ends with the word "comments".
func TestRenamed(t *testing.T) {
	data, err := os.ReadFile("testdata/renamed.txt")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]map[string]token.Position{} // by folder
	mentioned := map[string]map[string]token.Position{}
	lines, sought := 0, 0
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		marked := len(words) == 4 && words[3] == "comments"
		if len(words) != 3 && !marked {
			t.Fatalf("testdata/renamed.txt: %q is no folder, old and new name", line)
		}
		lines++
		folder, old := words[0], words[1]
		if declared[folder] == nil {
			dir := filepath.Join("..", filepath.FromSlash(folder))
			declared[folder] = declarations(t, dir)
			mentioned[folder] = commentWords(t, dir)
		}
		if at, ok := declared[folder][old]; ok {
			t.Errorf("%s declares %s, which is called %s now", at, old, words[2])
		}
		if !marked && !innerCapital.MatchString(old) {
			continue
		}
		sought++
		if at, ok := mentioned[folder][old]; ok {
			t.Errorf("%s: the comment names %s, which is called %s now", at, old, words[2])
		}
	}
	if lines < 200 || sought < 100 {
		t.Errorf("only %d names, and %d that comments were searched for", lines, sought)
	}
}

var (
	innerCapital = regexp.MustCompile(`[a-z][A-Z]`)
	commentWord  = regexp.MustCompile(`[A-Za-z][A-Za-z0-9_]*`)
)

// commentWords returns the words of the comments in the Go files of a folder and
// below it, tests too, each with the position of a comment that has it.
func commentWords(t *testing.T, folder string) map[string]token.Position {
	t.Helper()
	all := map[string]token.Position{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || path == "../docs/names_test.go" {
			return err
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				for _, w := range commentWord.FindAllString(c.Text, -1) {
					all[w] = fset.Position(c.Pos())
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// declarations are the names that the files below a folder declare, but for those
// inside of functions, with where they do.
func declarations(t *testing.T, folder string) map[string]token.Position {
	t.Helper()
	all := map[string]token.Position{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		note := func(names ...*ast.Ident) {
			for _, n := range names {
				all[n.Name] = fset.Position(n.Pos())
			}
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				note(d.Name)
			case *ast.GenDecl:
				ast.Inspect(d, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.TypeSpec:
						note(n.Name)
					case *ast.ValueSpec:
						note(n.Names...)
					case *ast.Field:
						note(n.Names...)
					case *ast.FuncLit, *ast.FuncType:
						return false
					}
					return true
				})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Errorf("nothing is declared below %s", folder)
	}
	return all
}

// TestSeeFile: a file that a comment refers to, as in "see lead.go", exists, beside
// the comment or at the path that it gives.
func TestSeeFile(t *testing.T) {
	see := regexp.MustCompile(`\bsee ((?:[a-z0-9_]+/)*[a-z0-9_]+\.go)\b`)
	found := 0
	for _, top := range []string{"bench", "cmd", "decisions", "docs", "internal", "policy", "rego", "remember", "socket"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, group := range f.Comments {
				text := strings.Join(strings.Fields(group.Text()), " ")
				for _, m := range see.FindAllStringSubmatch(text, -1) {
					if path == "../docs/names_test.go" {
						continue // the example above
					}
					found++
					_, beside := os.Stat(filepath.Join(filepath.Dir(path), m[1]))
					_, below := os.Stat(filepath.Join("..", m[1]))
					if beside != nil && below != nil {
						t.Errorf("%s: there is no %s", fset.Position(group.Pos()), m[1])
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 3 {
		t.Errorf("only %d comments refer to a file", found)
	}
}
