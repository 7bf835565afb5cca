package docs

import (
	"os"
	"path"
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
	for _, f := range module(t).files {
		if f.isTest() || strings.HasSuffix(path.Dir(f.path), "test") || lexpath.In("bench", f.path) || lexpath.In("packaging/release", f.path) {
			continue
		}
		for _, spec := range f.syntax.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			all[imported] = true
		}
	}
	return all
}
