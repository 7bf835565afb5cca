package paths

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// Bounds of reading ignore files.
const (
	maxIgnoreFile    = 64 << 10 // bytes of one file
	maxIgnoreRules   = 2048     // of one file
	maxIgnoreLine    = 256      // bytes
	maxIgnoreParents = 64       // parents of the folder that is searched
)

// A search skips a file if it skips the file's name or a parent folder, because that is
// hidden or ignored by an ignore file. A line that begins with ! in any ignore file
// reverts this, even for hidden names. So a name counts as skipped only if no such
// line may match it, and as ignored only if some line certainly does.
//
// Only lines that all programs read alike are certain, or certainly do not match: those of
// letters, digits, a few marks, and *. ripgrep reads lists in braces, and a set as any
// character, / included; git reads escapes; ripgrep trims what Unicode calls blank,
// and reads no further than to a line that is not UTF-8. Of any other line only this is taken
// for known: what it matches ends with the plain characters at its end.

// IgnoreNames are the ignore files of git, ripgrep, fd and ag. If an earlier part of
// the call may change one, its content is not known.
var IgnoreNames = []string{".gitignore", ".ignore", ".rgignore", ".agignore", ".fdignore"}

// ignoreRule is one line of an ignore file.
type ignoreRule struct {
	words   []string // components, "**" for any number of them; nil if the line is not plain
	tail    string   // what the last component of all that it matches ends with, folded
	negated bool
	folders bool // of a plain line: it matches folders only
	certain bool // all programs read it, as a plain line
}

// ignoreRules parses an ignore file.
func ignoreRules(text string) []ignoreRule {
	var rules []ignoreRule
	certain := true
	for line := range strings.SplitSeq(text, "\n") {
		certain = certain && utf8.ValidString(line)
		// Some programs strip a byte order mark, blanks of Unicode and a carriage return.
		spaced := strings.TrimPrefix(strings.TrimRight(line, " "), "\ufeff")
		plain := strings.TrimRightFunc(spaced, unicode.IsSpace)
		if plain == "" || plain[0] == '#' {
			continue
		}
		rule := ignoreRule{certain: certain && strings.HasPrefix(line, plain) && plain == spaced}
		plain, rule.negated = strings.CutPrefix(plain, "!")
		if !strings.Contains(line, "\x00") { // git reads no further than to it
			rule.tail = lexpath.Fold(plainEnd(strings.TrimRight(plain, "/")))
		}
		plain, rule.folders = strings.CutSuffix(plain, "/")
		anchored := strings.Contains(plain, "/")
		words := strings.Split(strings.TrimPrefix(plain, "/"), "/")
		if len(line) > maxIgnoreLine || slices.ContainsFunc(words, notPlainIgnoreWord) {
			rule.certain = false
			rules = append(rules, rule)
			continue
		}
		if !anchored {
			words = append([]string{"**"}, words...)
		}
		rule.words = slices.CompactFunc(words, func(a, b string) bool { return a == "**" && b == "**" })
		rules = append(rules, rule)
	}
	return rules
}

// notPlainIgnoreWord reports whether programs may read a component differently.
func notPlainIgnoreWord(word string) bool {
	switch word {
	case "**":
		return false
	case "", ".", "..":
		return true
	}
	return strings.Contains(word, "**") || plainEnd(strings.ReplaceAll(word, "*", "x")) != strings.ReplaceAll(word, "*", "x")
}

// plainEnd returns the characters at the end of a pattern that mean themselves to all programs.
func plainEnd(pattern string) string {
	i := len(pattern)
	for i > 0 {
		switch c := pattern[i-1]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("._-+@~=%", c) >= 0:
			i--
			continue
		}
		break
	}
	return pattern[i:]
}

// matches reports whether the rule certainly matches a path relative to its file.
func (rule *ignoreRule) matches(rel []string, folder bool) bool {
	return rule.certain && (!rule.folders || folder) && matchWords(rule.words, rel)
}

// mayMatch reports whether the rule may match, ignoring case as some file systems do.
func (rule *ignoreRule) mayMatch(rel []string, folder bool) bool {
	last := rel[len(rel)-1]
	switch {
	case strings.TrimRightFunc(last, unicode.IsSpace) != last:
		return true // not all programs trim the line
	case rule.words == nil:
		return strings.HasSuffix(lexpath.Fold(last), rule.tail)
	}
	folded := func(words []string) []string {
		list := make([]string, len(words))
		for i := range words {
			list[i] = lexpath.Fold(words[i])
		}
		return list
	}
	return (!rule.folders || folder) && matchWords(folded(rule.words), folded(rel))
}

// matchWords matches the components of a pattern with those of a path. A "**" matches as few
// components as possible, and one more each time what follows does not match. Only the latest
// "**" has to be tried again.
func matchWords(pattern, words []string) bool {
	var after, from []string // what follows the latest "**", and where that was tried last
	for len(words) > 0 {
		if len(pattern) > 0 && pattern[0] == "**" {
			if pattern = pattern[1:]; len(pattern) == 0 {
				return true
			}
			after, from = pattern, words
			continue
		}
		if len(pattern) > 0 {
			if ok, err := path.Match(pattern[0], words[0]); err == nil && ok {
				pattern, words = pattern[1:], words[1:]
				continue
			}
		}
		if after == nil {
			return false
		}
		from = from[1:]
		pattern, words = after, from
	}
	return len(pattern) == 0
}

// IgnoreFile has the lines of an ignore file, as far as they are known.
type IgnoreFile struct {
	rules   []ignoreRule
	unknown bool
}

// ReadIgnoreFile reads an ignore file of at most 64 KiB. The error is that of reading it.
func ReadIgnoreFile(fsys effects.FS, file string) (f IgnoreFile, err error) {
	text, err := fsys.ReadFile(file, maxIgnoreFile)
	if err != nil {
		return f, err
	}
	f.rules = ignoreRules(string(text))
	f.unknown = len(f.rules) > maxIgnoreRules
	return f, nil
}

// Ignores reports whether git certainly ignores what is not tracked at a path, given by its names
// from the folder of the file. above says so for the files of the folders above. The last line that
// matches decides; one with ! that is not plain may match all.
func (f *IgnoreFile) Ignores(names []string, folder, above bool) bool {
	if f.unknown || slices.ContainsFunc(names, func(name string) bool { return plainEnd(name) != name }) {
		return false
	}
	for i := range f.rules {
		switch rule := &f.rules[i]; {
		case rule.negated:
			above = above && rule.certain && !rule.mayMatch(names, folder)
		default:
			above = above || rule.matches(names, folder)
		}
	}
	return above
}

// ignoreFile reads an ignore file, once in a call.
func (r *Resolver) ignoreFile(file string) IgnoreFile {
	if known, ok := r.ignores[file]; ok {
		return known
	}
	found, err := ReadIgnoreFile(r.fs, file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		found.unknown = true
	}
	if r.ignores == nil {
		r.ignores = map[string]IgnoreFile{}
	}
	r.ignores[file] = found
	return found
}

// skips reports whether a search of the folder dir, in the project at root, certainly
// skips a file below dir. hidden is set if it skips hidden names, ignored if it skips
// what .gitignore lists.
func (r *Resolver) skips(root, dir, file string, hidden, ignored bool) bool {
	ignored = ignored && r.inRepository(dir)
	rel := strings.Split(strings.TrimPrefix(file[len(dir):], "/"), "/")
	at := dir
	for i, name := range rel {
		at = Joined(at, name)
		folder := i+1 < len(rel)
		if (hidden && name[0] == '.' || ignored && r.ignored(root, dir, at, folder)) && !r.reincluded(root, at, folder) {
			return true
		}
	}
	return false
}

// inRepository reports whether a folder is in a git repository: outside of one,
// .gitignore has no effect.
func (r *Resolver) inRepository(dir string) bool {
	for range maxIgnoreParents {
		// A link to nothing is no repository.
		if mode, err := r.Lstat(Joined(dir, ".git")); err == nil && mode.Type()&^fs.ModeDir == 0 {
			return true
		}
		if dir == "/" {
			break
		}
		dir = path.Dir(dir)
	}
	return false
}

// ignored reports whether the .gitignore files from root down certainly match a path,
// apart from what lines with ! say. Files above the path's own repository do not apply. Of those
// above the folder that is searched only names count: ripgrep 13 compares lines with a slash
// with the wrong path there.
func (r *Resolver) ignored(root, searched, p string, folder bool) bool {
	rel := strings.Split(strings.TrimPrefix(p[len(root):], "/"), "/")
	out := false
	dir := root
	for depth := range rel {
		if depth > 0 {
			dir = Joined(dir, rel[depth-1])
			if _, err := r.Lstat(Joined(dir, ".git")); !errors.Is(err, fs.ErrNotExist) {
				out = false
			}
		}
		above := lexpath.Below(dir, searched)
		for _, rule := range r.ignoreFile(Joined(dir, ".gitignore")).rules {
			name := len(rule.words) == 2 && rule.words[0] == "**"
			out = out || !rule.negated && (name || !above) && rule.matches(rel[depth:], folder)
		}
	}
	return out
}

// reincluded reports whether a line of an ignore file may make a search enter a path:
// in the folders above it, in the repository, or in the user's global ignore files.
func (r *Resolver) reincluded(root, p string, folder bool) bool {
	dir := path.Dir(p)
	rel := []string{path.Base(p)}
	for range maxIgnoreParents {
		for _, name := range IgnoreNames {
			if r.ignoreFile(Joined(dir, name)).mayReinclude(rel, folder) {
				return true
			}
		}
		for _, file := range r.repositoryFiles(dir, exclude) {
			if file == "" || r.ignoreFile(file).mayReinclude(rel, folder) {
				return true
			}
		}
		if dir == "/" {
			break
		}
		rel = append([]string{path.Base(dir)}, rel...)
		dir = path.Dir(dir)
	}
	if dir != "/" {
		return true
	}
	inRoot := strings.Split(strings.TrimPrefix(p[len(root):], "/"), "/")
	if r.commonIgnoreFiles == nil {
		r.commonIgnoreFiles = map[string][]string{}
	}
	if _, known := r.commonIgnoreFiles[root]; !known {
		r.commonIgnoreFiles[root] = r.commonIgnores(root)
	}
	for _, file := range r.commonIgnoreFiles[root] {
		if file == "" || r.ignoreFile(file).mayReinclude(inRoot, folder) {
			return true
		}
	}
	return false
}

// repositoryFiles returns where a file of the repository may be whose working tree has its top
// at a folder, "" for a place that is not known. Linked working trees share their files.
func (r *Resolver) repositoryFiles(dir, name string) []string {
	git := Joined(dir, ".git")
	mode, err := r.Lstat(git)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil || !mode.IsRegular():
		return []string{git + name}
	}
	line, ok := GitLine(r.fs, git, GitFile)
	if !ok {
		return []string{""}
	}
	own := lexpath.Abs(dir, line)
	files := []string{own + name}
	if common, ok := GitLine(r.fs, own+"/commondir", ""); ok {
		files = append(files, lexpath.Abs(own, common)+name)
	} else if _, err := r.Lstat(own + "/commondir"); !errors.Is(err, fs.ErrNotExist) {
		files = append(files, "")
	}
	return files
}

func (f IgnoreFile) mayReinclude(rel []string, folder bool) bool {
	return f.unknown || slices.ContainsFunc(f.rules, func(rule ignoreRule) bool { return rule.negated && rule.mayMatch(rel, folder) })
}

// commonIgnores returns the ignore files that apply to a whole repository, "" for one
// whose place is not known.
func (r *Resolver) commonIgnores(root string) []string {
	var files []string
	home := ""
	if r.c != nil {
		home = r.c.User.Home
	}
	configs := r.repositoryFiles(root, "/config")
	if path.IsAbs(home) {
		files = append(files, home+"/.config/git/ignore", home+"/.config/fd/ignore")
		configs = append(configs, home+"/.gitconfig", home+"/.config/git/config")
	}
	for _, config := range configs {
		if config == "" {
			files = append(files, "")
			continue
		}
		text, err := r.fs.ReadFile(config, maxIgnoreFile)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				files = append(files, "")
			}
			continue
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, "=")
			if !strings.Contains(strings.ToLower(name), "excludesfile") {
				continue
			}
			value = strings.TrimSpace(value)
			if rest, ok := strings.CutPrefix(value, "~/"); ok && home != "" {
				value = home + "/" + rest
			}
			if !path.IsAbs(value) || strings.ContainsAny(value, "\"\\#;") {
				value = ""
			}
			files = append(files, value)
		}
	}
	return files
}
