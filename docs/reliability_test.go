package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReliability checks that the tests that reliability.md names for a fault exist in
// the packages that it names.
func TestReliability(t *testing.T) {
	text, err := os.ReadFile("reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := regexp.MustCompile("((?:`Test[A-Za-z]+`(?:, | and )?)+) in `([a-z/]+)`(?: and `([a-z/]+)`)?")
	name := regexp.MustCompile("Test[A-Za-z]+")
	rows, found := 0, 0
	sources := map[string]string{} // of the tests of a package, by folder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| fault") {
			continue
		}
		rows++
		matches := tests.FindAllStringSubmatch(line, -1)
		if len(matches) == 0 && !strings.Contains(line, "`bench/load`") {
			t.Errorf("no test: %s", line)
		}
		named := 0
		for _, m := range matches {
			for _, folder := range m[2:] {
				if folder == "" {
					continue
				}
				if _, ok := sources[folder]; !ok {
					sources[folder] = sourceOfTests(t, folder)
				}
				for _, test := range name.FindAllString(m[1], -1) {
					found++
					if !strings.Contains(sources[folder], "\nfunc "+test+"(t *testing.T)") {
						t.Errorf("%s has no %s", folder, test)
					}
				}
			}
			named += len(name.FindAllString(m[1], -1))
		}
		if all := len(name.FindAllString(line, -1)); named != all {
			t.Errorf("%d of %d tests are named with their package: %s", named, all, line)
		}
	}
	if rows < 30 || found < rows {
		t.Errorf("only %d rows and %d tests", rows, found)
	}
}

// sourceOfTests returns the tests of the package in a folder.
func sourceOfTests(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(source)
	}
	return all.String()
}
