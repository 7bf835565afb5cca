package settings

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/settings/settingstest"
)

// added are settings that mean harm, in each format.
var added = map[string]struct {
	text string
	path []string
}{
	"npmrc": {"\nscript-shell=./x\n", []string{"script-shell"}}, "ini": {"\nadded.x=1\n", []string{"added", "x"}}, "gitconfig": {"\n[core]\n\tpager = ./x\n", []string{"core", "pager"}},
	"toml": {"\n[added]\nx = 1\n", []string{"added", "x"}}, "mise": {"\n[added]\nx = 1\n", []string{"added", "x"}}, "yaml": {"\nadded: 1\n", []string{"added"}},
	"words": {"\nadded x\n", []string{"added"}}, "lines": {"\nadded\n", []string{"line"}},
}

// FuzzHidden: whatever a file of settings holds, a setting at its end is not hidden by it:
// the file is not read at all, or the setting is found. Entries and nesting are bounded.
func FuzzHidden(f *testing.F) {
	for _, text := range []string{
		"a=b\n", "[core]\n\tbare = false\n", "[build]\nrustflags = [\"-O\"]\n", "a:\n  b: [1, c]\n", "a: |\n  text", "a: >-\n", "x = '''\n", "x = \"\"\"\\\n", "{a: 1", "a: 'x", "# c\\", "[remote \"x\"]\nurl = \\", "--- # x", "a: 1\n...", "? a", "a: &b\n",
		"python 3.12 # x", "[tasks.a]\nrun = 'x'", "key = \\\n", "\"a\": [", "a: \"b\\", "- a", "a:\n - b", "%YAML 1.2\n---\n", "a: !!str", "[a]\n[a.b]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, ok := plainText(data)
		if !ok || len(text) > maxObeyed {
			return
		}
		for name, end := range added {
			list, err := readers[name](text + end.text)
			if err != nil {
				continue
			}
			if !slices.ContainsFunc(list, func(e entry) bool { return slices.Equal(e.path, end.path) }) {
				t.Errorf("%s: in %q nothing is at %q", name, text+end.text, end.path)
			}
			if name == "lines" && list[len(list)-1].value != "added" {
				t.Errorf("the last of %q is %q", text+end.text, list[len(list)-1].value)
			}
		}
	})
}

// FuzzTwoReaders: JSON is read as YAML reads it, as far as YAML does.
func FuzzTwoReaders(f *testing.F) {
	for _, text := range []string{`{"a":{"b":[1,"c"]}}`, `{"a":null,"b":[],"c":{}}`, `{"é":1.50,"\u0061":true}`, `{"a b":"x: y","<<":{"c":1}}`, `{"1":1,"true":2,"~":3}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, ok := plainText(data)
		if !ok || strings.Contains(text, `\/`) {
			return
		}
		paths := func(list []entry) (all []string) {
			for _, e := range list {
				all = append(all, strings.Join(e.path, "\x00"))
			}
			slices.Sort(all)
			return all
		}
		asJSON, err := readJSON(text)
		if err != nil {
			return
		}
		asYAML, err := readYAML(text)
		if err != nil || asYAML == nil && strings.TrimSpace(text) == "{}" {
			return
		}
		if a, b := paths(asJSON), paths(asYAML); !slices.Equal(a, b) {
			t.Errorf("%q has %q as JSON, %q as YAML", text, a, b)
		}
	})
}

// FuzzGitIndex: the submodules in a list of tracked files are all found, or the list is
// not read: one that is cut off never has fewer.
func FuzzGitIndex(f *testing.F) {
	for _, index := range settingstest.GitIndexes(f) {
		f.Add(index.Data, uint(len(index.Data)/2), index.Format == "sha256")
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint, sha256 bool) {
		format := "sha1"
		if sha256 {
			format = "sha256"
		}
		links, ok := gitLinks(data, format)
		if !ok || len(links) == 0 {
			return
		}
		for _, link := range links {
			if len(link) > len(data)*len(data) {
				t.Fatalf("a name of %d bytes in %d", len(link), len(data))
			}
		}
		part, ok := gitLinks(data[:cut%uint(len(data)+1)], format)
		if ok && len(part) > len(links) {
			t.Fatalf("%q, and of a part %q", links, part)
		}
	})
}
