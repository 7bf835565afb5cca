package settings

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects/settings/settingstest"
)

func TestSettingsBounds(t *testing.T) {
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "hoist-pattern[]=x%d\n", i)
		}
		return b.String()
	}
	s := &Format{read: readNpmrc, harmless: []harmlessSetting{{path: []string{"hoist-pattern", "**"}}}}
	if !s.plain(nil, []byte(many(maxSettings))) || s.plain(nil, []byte(many(maxSettings+1))) {
		t.Error("the number of entries is not bounded")
	}
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	j := &Format{read: readJSON, harmless: []harmlessSetting{{path: []string{"a", "**"}}}}
	if !j.plain(nil, []byte(deep(maxNested))) || j.plain(nil, []byte(deep(maxNested+1))) {
		t.Error("the depth is not bounded")
	}
}

func FuzzSettings(f *testing.F) {
	for _, text := range []string{
		"include-workspace-root=true\n//r.example/:_authToken=x\n", "[build]\nrustflags = [\"-O\"]\n", "a:\n  b: [1, c]\n", `{"a":{"b":[1,"c"]}}`,
		"[core]\n\tbare = false\n[remote \"origin\"]\n\turl = x\n", "module x\n\nrequire a.b/c v1.0.0\n", "A=b\nexport C='d'\n", "3.12\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, ok := plainText(data)
		if !ok {
			return
		}
		for name, read := range readers {
			list, err := read(text)
			if err != nil {
				continue
			}
			for _, e := range list {
				if len(e.path) == 0 {
					t.Errorf("%s: an entry that stands nowhere: %q", name, e.value)
				}
			}
		}
	})
}

func TestGitLinks(t *testing.T) {
	for _, index := range settingstest.GitIndexes(t) {
		data, name := index.Data, index.Format+", version "+index.Version
		links, ok := gitLinks(data, index.Format)
		if !ok || len(links) != 1 || links[0] != "lib/sub" {
			t.Errorf("%s: %q, %v", name, links, ok)
		}
		for n := 1; n < len(data); n++ {
			if links, ok := gitLinks(data[:n], index.Format); ok && len(links) != 1 {
				t.Errorf("%s: the first %d of %d bytes are read without the submodule", name, n, len(data))
			}
		}
		for _, other := range []string{"sha1", "sha256", "sha512", ""} {
			if links, ok := gitLinks(data, other); ok && len(links) != 1 {
				t.Errorf("%s: read as %q without the submodule", name, other)
			}
		}
		// git looks at no other bits of the mode (S_IFMT).
		odd := bytes.Replace(data, []byte{0, 0, 0xe0, 0}, []byte{1, 0, 0xe1, 0xa4}, 1)
		if links, ok := gitLinks(odd, index.Format); !ok || len(links) != 1 {
			t.Errorf("%s, another mode: %q, %v", name, links, ok)
		}
		if _, ok := gitLinks(bytes.Replace(data, []byte("a.txt"), []byte("/.txt"), 1), index.Format); ok {
			t.Errorf("%s: an absolute path is read", name)
		}
		if _, ok := gitLinks(append(slices.Clone(data), "sdir\x00\x00\x00\x00"...), index.Format); ok {
			t.Errorf("%s: a sparse index is read", name)
		}
	}
}

// TestYAMLDocuments: a second document is never overlooked, also where the library does
// not read it and others do.
func TestYAMLDocuments(t *testing.T) {
	for _, text := range []string{"a: 1\n---\nb: 2\n", "a: 1\n...\nb: 2\n", "a: 1\n...\n---\nb: 2\n", "a: 1\n...\n%YAML 1.2\n---\nb: 2\n"} {
		if list, err := readYAML(text); err == nil {
			t.Errorf("%q is read as %v", text, list)
		}
	}
	for _, text := range []string{"a: 1\n", "---\na: 1\n", "a: 1\n...\n", "a: 1\n...\n# the end\n"} {
		if list, err := readYAML(text); err != nil || len(list) != 1 {
			t.Errorf("%q is read as %v, %v", text, list, err)
		}
	}
}
