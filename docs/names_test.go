package docs

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
			declared[folder] = declarations(t, folder)
			mentioned[folder] = commentWords(t, folder)
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
	all, m := map[string]token.Position{}, module(t)
	for f := range m.below(folder) {
		if f.path == "docs/names_test.go" {
			continue
		}
		for _, group := range f.syntax.Comments {
			for _, c := range group.List {
				for _, w := range commentWord.FindAllString(c.Text, -1) {
					all[w] = m.at(c.Pos())
				}
			}
		}
	}
	return all
}

// declarations are the names that the files below a folder declare, but for those
// inside of functions, with where they do.
func declarations(t *testing.T, folder string) map[string]token.Position {
	t.Helper()
	all, m := map[string]token.Position{}, module(t)
	note := func(names ...*ast.Ident) {
		for _, n := range names {
			all[n.Name] = m.at(n.Pos())
		}
	}
	for f := range m.below(folder) {
		if f.isTest() {
			continue
		}
		for _, d := range f.syntax.Decls {
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
	}
	if len(all) == 0 {
		t.Errorf("nothing is declared below %s", folder)
	}
	return all
}

// TestNamesInFiles: in the documents, a name in "`name` in `file.go`" is declared or
// used in that file. A file without a folder lies in the last one that the line names.
func TestNamesInFiles(t *testing.T) {
	pair := regexp.MustCompile("`([A-Za-z_][A-Za-z0-9_.]*)` in (?:the )?`([a-z0-9_/]+\\.go)`")
	span := regexp.MustCompile("`([^`]+)`")
	found := 0
	for _, doc := range documents(t) {
		for i, line := range prose(t, doc) {
			for _, at := range pair.FindAllStringSubmatchIndex(line, -1) {
				found++
				name, file := line[at[2]:at[3]], line[at[4]:at[5]]
				name = name[strings.LastIndex(name, ".")+1:]
				var candidates []string
				if strings.Contains(file, "/") {
					candidates = append(candidates, file)
				}
				for _, m := range span.FindAllStringSubmatch(line, -1) {
					folder := m[1]
					if filepath.Ext(folder) != "" {
						folder = filepath.Dir(folder)
					}
					candidates = append(candidates, folder+"/"+file, "decisions/effects/"+folder+"/"+file)
				}
				if !slices.ContainsFunc(candidates, func(c string) bool { return usesName(t, c, name) }) {
					t.Errorf("%s:%d: no file %s that the line may mean has the name %s", doc, i+1, file, name)
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d names in files", found)
	}
}

// usesName reports whether a Go file exists and declares a name outside of functions,
// or calls or selects it. A local variable of that name does not count.
func usesName(t *testing.T, path, name string) (found bool) {
	t.Helper()
	at := slices.IndexFunc(module(t).files, func(f sourceFile) bool { return f.path == path })
	if at < 0 {
		return false
	}
	is := func(ids ...*ast.Ident) {
		found = found || slices.ContainsFunc(ids, func(id *ast.Ident) bool { return id.Name == name })
	}
	ast.Inspect(module(t).files[at].syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			is(n.Name)
		case *ast.TypeSpec:
			is(n.Name)
		case *ast.ValueSpec:
			is(n.Names...)
		case *ast.Field:
			is(n.Names...)
		case *ast.SelectorExpr:
			is(n.Sel)
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok {
				is(id)
			}
		}
		return !found
	})
	return found
}

// TestFilesInSQL: a file that a comment in SQL names exists in its folder.
func TestFilesInSQL(t *testing.T) {
	named := regexp.MustCompile(`\b[a-z0-9_]+\.(?:go|sql)\b`)
	files := 0
	for _, top := range []string{"decisions", "internal", "remember"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".sql" || strings.Contains(path, "/testdata/") {
				return err
			}
			files++
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(data)) {
				_, comment, _ := strings.Cut(line, "--")
				for _, name := range named.FindAllString(comment, -1) {
					if _, err := os.Stat(filepath.Join(filepath.Dir(path), name)); err != nil {
						t.Errorf("%s: there is no %s", path, name)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 3 {
		t.Errorf("only %d files of SQL", files)
	}
}

// TestSeeFile: a file that a comment refers to, as in "see reading.go", exists, in the folder of
// the comment or at the path that it gives.
func TestSeeFile(t *testing.T) {
	see := regexp.MustCompile(`\bsee ((?:[a-z0-9_]+/)*[a-z0-9_]+\.go)\b`)
	found, m := 0, module(t)
	for _, f := range m.files {
		if f.path == "docs/names_test.go" {
			continue // the example above
		}
		for _, group := range f.syntax.Comments {
			text := strings.Join(strings.Fields(group.Text()), " ")
			for _, named := range see.FindAllStringSubmatch(text, -1) {
				found++
				_, beside := os.Stat(filepath.Join("..", filepath.Dir(f.path), named[1]))
				_, below := os.Stat(filepath.Join("..", named[1]))
				if beside != nil && below != nil {
					t.Errorf("%s: there is no %s", m.at(group.Pos()), named[1])
				}
			}
		}
	}
	if found < 3 {
		t.Errorf("only %d comments refer to a file", found)
	}
}
