package userrules

import (
	"fmt"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	good := func(names ...string) (p pushParams) {
		for _, name := range names {
			p.Files = append(p.Files, file{Name: name})
		}
		return p
	}
	var most, many []string
	for i := range maxFiles + 1 {
		if many = append(many, fmt.Sprintf("f%d.rego", i)); i < maxFiles {
			most = append(most, many[i])
		}
	}
	for name, tt := range map[string]struct {
		p    pushParams
		says string // "" for what is taken
	}{
		"none":               {},
		"nested":             {p: good("a.rego", "programs/x.yaml", "a/b/c/d.rego")},
		"as many as may be":  {p: good(most...)},
		"too many":           {good(many...), "more than 256 files"},
		"as long as may be":  {p: pushParams{Files: []file{{"a.rego", strings.Repeat("#", maxBytes)}}}},
		"too long":           {pushParams{Files: []file{{"a.rego", strings.Repeat("#", maxBytes)}, {"b.rego", "#"}}}, "1024 KiB"},
		"twice":              {good("a.rego", "a.rego"), "one name"},
		"a file as a folder": {good("a.rego", "a.rego/b.rego"), "place of a folder"},
		"too deep":           {good("a/b/c/d/e.rego"), "at most 4 parts"},
		"a long name":        {good(strings.Repeat("a", maxName+1)), "at most 4 parts"},
		"up":                 {good("../a.rego"), "a name"}, "up below": {good("a/../b.rego"), "a name"}, "here": {good("./a.rego"), "a name"},
		"absolute": {good("/a.rego"), "a name"}, "nothing": {good(""), "a name"}, "a folder": {good("a/"), "a name"}, "hidden": {good(".a.rego"), "a name"},
		"NUL": {good("a\x00.rego"), "a name"}, "a line": {good("a\n.rego"), "a name"}, "an option": {good("-a.rego"), "a name"}, "a space": {good("a b.rego"), "a name"},
		"a backslash": {good(`a\b.rego`), "a name"},
	} {
		err := tt.p.check()
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
}
