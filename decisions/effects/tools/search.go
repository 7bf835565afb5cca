package tools

import (
	"path"
	"slices"

	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/strictjson"
)

// addSearched adds, to the folders of a tool's effects from index n on, the secrets that a
// search of them reads. A tool without a search pattern only lists names.
func (t *tool) addSearched(n int) {
	if t.readByDeclaration() {
		// Which member says what is searched for is not known, nor whether one does, nor
		// which files and links are left out.
		t.addSearchTags(n, paths.ReachAll)
		t.addLinked(n, t.Effects[n].From)
		return
	}
	if !t.hasMember("pattern", "query", "regex", "search", "keyword", "text") {
		return
	}
	as := paths.ReachKept
	for _, name := range []string{"glob", "include", "file_pattern", "filePattern", "include_pattern", "include_glob"} {
		if v, ok := t.input.Get(name); ok {
			if text, ok := strictjson.ParseString(v); ok && text != "" && !slices.ContainsFunc(paths.Alternatives(path.Base(text)), t.mayBeSecret) {
				as = paths.ReachNamed
			}
		}
	}
	if v, ok := t.input.Get("type"); ok {
		if text, ok := strictjson.ParseString(v); ok && text != "" && !t.mayBeSecret("x."+text) {
			as = paths.ReachNamed
		}
	}
	t.addSearchTags(n, as)
}

// addMatched is addSearched for a tool whose pattern, in the named member, selects the files that
// it reads. If the member is "pattern", the tool only lists names.
func (t *tool) addMatched(n int, member, pattern string) {
	if t.readByDeclaration() {
		t.addSearchTags(n, paths.ReachAll)
		return
	}
	if !listsNames(member) && slices.ContainsFunc(paths.Alternatives(path.Base(pattern)), t.mayBeSecret) {
		t.addSearchTags(n, paths.ReachKept)
	}
}

// listsNames reports whether a tool whose pattern is the named member only lists names.
func listsNames(member string) bool { return member == "pattern" || member == "glob_pattern" }

// readByDeclaration reports whether the call is read by what its client declared.
func (t *tool) readByDeclaration() bool { return t.id.shape != nil && t.id.shape.declared }

// addLinked adds, to the folders of a tool's effects from index n on, the reads of the
// targets of links in them: a pattern matches links and what is in linked folders.
func (t *tool) addLinked(n int, from string) {
	var folders []paths.Followed
	for i := n; i < len(t.Effects); i++ {
		if f := t.Effects[i].File; f != nil {
			folders = append(folders, paths.Followed{Path: f.Path})
		}
	}
	more, complete := t.ReadsThroughLinks(folders, from)
	for _, e := range more {
		t.Add(e)
	}
	if !complete {
		t.Unknown(from, "a pattern among whose files are links, of which not all are known")
	}
}

func (t *tool) addSearchTags(n int, as paths.Reach) {
	for i := n; i < len(t.Effects); i++ {
		t.Paths.Search(&t.Effects[i], as)
	}
}

// mayBeSecret reports whether a pattern for names can match that of a secret.
func (t *tool) mayBeSecret(pattern string) bool {
	return pattern == "" || t.Table == nil || !t.Table.PlainPattern(pattern)
}

func (t *tool) hasMember(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, ok := t.input.Get(name)
		return ok
	})
}
