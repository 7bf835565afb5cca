package docs

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// Bounds of a row that says where to change something, in characters: a reader looks for
// its beginning, and wants the places of one change.
const (
	maxRowTitle = 130
	maxRowCell  = 650
)

// TestRows: the rows of where-to-change.md are short, and no two begin alike.
func TestRows(t *testing.T) {
	titles := map[string]bool{}
	for _, tab := range read(t, "where-to-change.md").find("to change", "go to") {
		for _, row := range tab.rows {
			if len(row) != 2 {
				t.Errorf("%s: a row has %d cells: %q", tab.heading, len(row), row[0])
				continue
			}
			title, places := row[0], row[1]
			if titles[title] {
				t.Errorf("%s: two rows are called %q", tab.heading, title)
			}
			titles[title] = true
			if n := utf8.RuneCountInString(title); n > maxRowTitle {
				t.Errorf("%s: %q has %d characters, more than %d", tab.heading, title, n, maxRowTitle)
			}
			if n := utf8.RuneCountInString(places); n > maxRowCell {
				t.Errorf("%s: %q has %d characters, more than %d: make a row of each change", tab.heading, title, n, maxRowCell)
			}
		}
	}
	if len(titles) < 100 {
		t.Errorf("only %d rows", len(titles))
	}
}

// TestFoldersNamed: the pages for those who carry permd on name every folder with Go code, by
// its path or that of a file in it.
func TestFoldersNamed(t *testing.T) {
	named := map[string]bool{}
	for _, page := range []string{"architecture.md", "where-to-change.md"} {
		for _, line := range prose(t, page) {
			for _, span := range spans(line) {
				span = strings.TrimSuffix(span, "/")
				named[span], named[filepath.Dir(span)] = true, true
			}
		}
	}
	folders := map[string]bool{}
	for _, f := range module(t).files {
		folders[filepath.Dir(f.path)] = true
	}
	if len(folders) < 80 {
		t.Errorf("only %d folders", len(folders))
	}
	for folder := range folders {
		if !named[folder] {
			t.Errorf("neither page names %s or a file in it", folder)
		}
	}
}
