package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/permd/permd/internal/lexpath"
)

// sourceFile is a parsed Go file of the module.
type sourceFile struct {
	path   string // relative to the module, with slashes
	syntax *ast.File
}

func (f sourceFile) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// parsedModule is the module's Go files. All tests share them, and change nothing.
type parsedModule struct {
	fset  *token.FileSet
	files []sourceFile
}

var parseModule = sync.OnceValues(func() (*parsedModule, error) {
	m := &parsedModule{fset: token.NewFileSet()}
	err := filepath.WalkDir("..", func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != ".." && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata"):
			return filepath.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		f, err := parser.ParseFile(m.fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		m.files = append(m.files, sourceFile{lexpath.Shorten("..", filepath.ToSlash(path)), f})
		return nil
	})
	return m, err
})

// module returns the module's Go files.
func module(t *testing.T) *parsedModule {
	t.Helper()
	m, err := parseModule()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// below returns the files in a folder of the module and in those below it.
func (m *parsedModule) below(folder string) iter.Seq[sourceFile] {
	return func(yield func(sourceFile) bool) {
		for _, f := range m.files {
			if lexpath.In(folder, f.path) && !yield(f) {
				return
			}
		}
	}
}

// at returns where something is, for messages.
func (m *parsedModule) at(pos token.Pos) token.Position { return m.fset.Position(pos) }
