package tools

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/strictjson"
)

// verb is what a tool does with the path of the same input.
type verb uint8

const (
	verbUnknown verb = iota
	verbRead
	verbWrite
	verbDelete
)

// verb reads the verb of an editor tool from its input.
func (t *tool) verb(fs []fact) verb {
	for _, f := range fs {
		if f.role != roleVerb {
			continue
		}
		word, _ := strictjson.ParseString(f.val)
		switch word {
		case "view":
			return verbRead
		case "create", "str_replace", "insert", "undo_edit", "write", "edit", "edit_file":
			return verbWrite
		}
		t.Unknown(f.from, "what the editor is to do is not known")
		return verbUnknown
	}
	return verbWrite
}

// touch adds the effects of the verb on paths; if it is not known, those of all verbs, so
// that denies of each apply.
func (t *tool) touch(s *shape, f fact, cwd string, v verb) {
	if v == verbRead || v == verbUnknown {
		t.files(s, f, cwd, effects.KindRead)
	}
	if v == verbWrite || v == verbUnknown {
		t.files(s, f, cwd, effects.KindWrite)
	}
	if v == verbDelete {
		t.markRecursive(t.files(s, f, cwd, effects.KindDelete))
	}
}

// files adds the effects of paths, and returns the index of the first.
func (t *tool) files(s *shape, f fact, cwd string, kind effects.Kind) int {
	n := len(t.Effects)
	for _, g := range t.texts(f, s) {
		given, _ := strictjson.ParseString(g.val)
		t.file(kind, given, cwd, g.from)
	}
	return n
}

// markRecursive makes the deletes from index n on recursive: the path may be a folder.
func (t *tool) markRecursive(n int) {
	for i := n; i < len(t.Effects); i++ {
		t.Paths.Recurse(&t.Effects[i], false)
	}
}

// file adds the effect of one path.
func (t *tool) file(kind effects.Kind, given, cwd, from string) {
	if t.tooMany(&t.paths, maxToolPaths) {
		return
	}
	t.checkHidden(given, from)
	e := t.CheckLinks(t.Paths.File(kind, given, cwd, from))
	if kind == effects.KindWrite && e.File != nil && t.mayWriteBelow(from) {
		if at, err := t.Paths.Lstat(e.File.Path); err == nil && at.IsDir() {
			// What a tool writes that is given a folder is not known.
			t.Paths.Recurse(&e, false)
		}
	}
	t.Add(e)
}

// mayWriteBelow reports whether a folder that the member from names may be written as a
// whole. Of a foreign tool that is so only by its name: of many, the folder says where they
// work.
func (t *tool) mayWriteBelow(from string) bool {
	return !t.isForeign || verbOf(t.id.name) == verbWrite && t.all.roleOf(from[strings.LastIndexByte(from, '.')+1:]) != roleCwd
}

// markMoved records that the paths of the effects from index n on were moved: what is there now
// may be a link.
func (t *tool) markMoved(n int) {
	for i := n; i < len(t.Effects); i++ {
		if f := t.Effects[i].File; f != nil {
			t.Paths.Disturbed = append(t.Paths.Disturbed, f.Path)
		}
	}
}

// tooMany counts, and reports once that a bound is exceeded.
func (t *tool) tooMany(n *int, most int) bool {
	*n++
	if *n <= most {
		return false
	}
	if !t.counted {
		t.counted = true
		t.addMissing("the input names more than is looked at")
	}
	return true
}

func (t *tool) treeText(f fact, cwd string) {
	given, _ := strictjson.ParseString(f.val)
	if given == "" {
		given = "."
	}
	n := len(t.Effects)
	t.tree(given, cwd, f.from)
	t.addSearched(n)
}

// tree adds the recursive read of a folder.
func (t *tool) tree(given, cwd, from string) {
	n := len(t.Effects)
	t.file(effects.KindRead, given, cwd, from)
	t.markRecursive(n)
}

func globbed(fs []fact) bool {
	return slices.ContainsFunc(fs, func(f fact) bool { return f.role == roleGlob })
}

// glob adds the read of the folder that a pattern starts in, relative to the folder of the
// same input.
func (t *tool) glob(f fact, fs []fact, cwd string) {
	base := ""
	for _, g := range fs {
		if g.role == roleTree {
			if text, ok := strictjson.ParseString(g.val); ok {
				base = text
			} else {
				t.malformed(g.from, "the folder is "+strictjson.KindName(strictjson.Kind(g.val))+", not text")
				return
			}
		}
	}
	for _, g := range t.texts(f, t.all.generic) {
		pattern, _ := strictjson.ParseString(g.val)
		root, ok := globRoot(pattern)
		if !ok {
			t.Unknown(g.from, "a pattern that may leave its folder")
			continue
		}
		switch {
		case path.IsAbs(root) || strings.HasPrefix(root, "~") || base == "":
		case root == ".":
			root = base
		default:
			root = base + "/" + root
		}
		n := len(t.Effects)
		t.tree(root, cwd, g.from)
		t.addMatched(n, f.name, pattern)
		if !listsNames(f.name) || t.readByDeclaration() {
			t.addLinked(n, g.from)
		}
	}
}

// filter checks patterns that select among the files below a folder. If git searches, a
// pattern with ".." or an absolute one selects others.
func (t *tool) filter(s *shape, f fact) {
	for _, g := range t.texts(f, s) {
		pattern, _ := strictjson.ParseString(g.val)
		t.checkHidden(pattern, g.from)
		pattern = strings.TrimLeft(pattern, "!:^ ")
		if slices.ContainsFunc(paths.Alternatives(pattern), mayGoUp) || strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~") || strings.Contains(pattern, "\\") {
			t.Unknown(g.from, "a pattern that may leave its folder")
		}
	}
}

// mayGoUp reports whether a pattern may stand for the folder above. Wildcards match only
// names that a folder lists. But braces become literal text, and some programs read a
// list in brackets of one sign, or alternatives, as literal text too ([.][.], minimatch).
func mayGoUp(pattern string) bool {
	if strings.Contains(pattern, "..") {
		return true
	}
	for name := range strings.SplitSeq(pattern, "/") {
		if strings.Contains(name, ".") && strings.ContainsAny(name, "[{(") && !strings.ContainsFunc(outsideGroups(name), func(c rune) bool {
			return c == '*' || c == '?' || c == '_' || c == '-' || unicode.IsLetter(c) || unicode.IsDigit(c)
		}) {
			return true
		}
	}
	return false
}

// outsideGroups returns the characters of a pattern that are outside of brackets, braces
// and parentheses; the sign before a parenthesis belongs to them.
func outsideGroups(name string) string {
	var out strings.Builder
	depth := 0
	for i, c := range name {
		switch {
		case strings.ContainsRune("[{(", c):
			depth++
		case strings.ContainsRune("]})", c):
			depth = max(0, depth-1)
		case depth == 0 && !strings.HasPrefix(name[i+utf8.RuneLen(c):], "("):
			out.WriteRune(c)
		}
	}
	return out.String()
}

// globRoot returns the folder that a pattern starts in: everything before the first
// component with a wildcard. A pattern with "..", or that begins with alternatives of
// several roots, has none.
func globRoot(pattern string) (string, bool) {
	i := strings.IndexAny(pattern, "*?[{!(")
	if i < 0 {
		if pattern == "" {
			return ".", true
		}
		return pattern, true
	}
	j := strings.LastIndexByte(pattern[:i], '/')
	rest := pattern[i:]
	if strings.Contains(rest, "\\") || slices.ContainsFunc(paths.Alternatives(pattern[j+1:]), mayGoUp) {
		return "", false
	}
	if i == 0 {
		for _, root := range []string{"{/", ",/", "{~", ",~", "{$", ",$", "(/", "|/", "(~", "|~"} {
			if strings.Contains(rest, root) {
				return "", false
			}
		}
	}
	switch j {
	case -1:
		return ".", true
	case 0:
		return "/", true
	}
	return pattern[:j], true
}
