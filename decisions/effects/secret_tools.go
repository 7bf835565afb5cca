package effects

import (
	"path"
	"slices"

	"github.com/permd/permd/internal/strictjson"
)

// searched adds to the folders of a tool's effects from index n on what a
// search of them passes over. A tool that is given nothing to look for only
// lists names.
func (t *tool) searched(n int) {
	if !t.given("pattern", "query", "regex", "search", "keyword", "text") {
		return
	}
	as := reachKept
	for _, name := range []string{"glob", "include", "file_pattern", "filePattern", "include_pattern", "include_glob"} {
		if v, ok := t.input.Get(name); ok {
			if text, ok := strictjson.ParseString(v); ok && text != "" && !slices.ContainsFunc(alternatives(path.Base(text)), t.mayBeSecret) {
				as = reachNamed
			}
		}
	}
	if v, ok := t.input.Get("type"); ok {
		if text, ok := strictjson.ParseString(v); ok && text != "" && !t.mayBeSecret("x."+text) {
			as = reachNamed
		}
	}
	t.pass(n, as)
}

// matched is searched for a tool whose pattern, in the member of that name,
// chooses what it reads. By the name "pattern" it lists names.
func (t *tool) matched(n int, member, pattern string) {
	if member != "pattern" && member != "glob_pattern" && slices.ContainsFunc(alternatives(path.Base(pattern)), t.mayBeSecret) {
		t.pass(n, reachKept)
	}
}

func (t *tool) pass(n int, as reach) {
	for i := n; i < len(t.effects); i++ {
		t.res.search(&t.effects[i], as)
	}
}

// mayBeSecret reports whether a pattern for names can match one that holds a
// secret.
func (t *tool) mayBeSecret(pattern string) bool {
	return pattern == "" || t.table == nil || !t.table.plainPattern(pattern)
}

func (t *tool) given(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, ok := t.input.Get(name)
		return ok
	})
}
