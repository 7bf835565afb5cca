package docs

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Bounds of what a reader has to keep in mind.
const (
	maxFileLines    = 400
	maxPackageFiles = 35   // without tests
	maxPackageLines = 6000 // without tests
)

// TestSizes bounds the size of files and packages.
func TestSizes(t *testing.T) {
	type size struct{ files, lines int }
	packages := map[string]size{}
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != ".." && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := bytes.Count(text, []byte("\n"))
		if lines > maxFileLines {
			t.Errorf("%s has %d lines, more than %d: split it by its ideas", path, lines, maxFileLines)
		}
		if !strings.HasSuffix(path, "_test.go") {
			s := packages[filepath.Dir(path)]
			packages[filepath.Dir(path)] = size{s.files + 1, s.lines + lines}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 50 {
		t.Errorf("only %d packages were found", len(packages))
	}
	for folder, s := range packages {
		if s.files > maxPackageFiles || s.lines > maxPackageLines {
			t.Errorf("%s has %d files and %d lines, more than %d or %d: give an idea of it a package of its own", folder, s.files, s.lines, maxPackageFiles, maxPackageLines)
		}
	}
}
