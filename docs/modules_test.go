package docs

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/permd/permd/internal/lexpath"
)

// TestModulesOfTests compares the blocks of go.mod with the imports: the block whose
// comment says so has exactly the modules that only tests, packages for tests, bench and
// packaging/release import.
func TestModulesOfTests(t *testing.T) {
	data, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "// Only tests, bench and packaging/release import these")
	apart, _, _ := strings.Cut(rest, "\n)\n")
	imported := shippedImports(t)
	for _, r := range file.Require {
		if r.Indirect {
			continue
		}
		shipped := false
		for path := range imported {
			shipped = shipped || lexpath.In(r.Mod.Path, path)
		}
		if in := strings.Contains(apart, "\t"+r.Mod.Path+" "); in == shipped {
			t.Errorf("%s: imported by what is shipped: %v, in the block of tests: %v", r.Mod.Path, shipped, in)
		}
	}
}

// shippedImports returns the imports of all files except those of tests, of packages for
// tests (effectstest …), of bench and of packaging/release.
func shippedImports(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != ".." && (strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), "test") || path == filepath.Join("..", "bench") || path == filepath.Join("..", "packaging", "release")):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			all[imported] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
