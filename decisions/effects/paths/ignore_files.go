package paths

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// Bounds of reading ignore files.
const (
	maxIgnoreFile        = 64 << 10 // bytes of one file
	maxIgnoreLine        = 256      // bytes
	maxIgnoreDoubleStars = 3        // ** in one line
	maxIgnoreParents     = 64       // parents of the folder that is searched
)

// A search skips a file if it skips the file's name or a parent folder, because that is
// hidden or ignored by an ignore file. A line that begins with ! in any ignore file
// reverts this, even for hidden names. So a name counts as skipped only if no such
// line may match it, and as ignored only if some line certainly does, in the
// programs' own reading of the format. What cannot be read, or uses syntax that permd
// does not support, counts in favour of searching the file.

// IgnoreNames are the ignore files of git, ripgrep, fd and ag. If an earlier part of
// the call may change one, its content is not known.
var IgnoreNames = []string{".gitignore", ".ignore", ".rgignore", ".agignore", ".fdignore"}

// ignoreRule is one line of an ignore file.
type ignoreRule struct {
	words        []string // components, "**" for any number of them
	negated      bool
	folders      bool // matches folders only
	mayMatchLess bool // it may match less than words
	unsupported  bool // its syntax is not supported
}

// ignoreRules parses an ignore file.
func ignoreRules(text string) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " ")
		if line == "" || line[0] == '#' {
			continue
		}
		var rule ignoreRule
		// Not all programs strip a carriage return.
		plain := strings.TrimRight(line, " \t\r")
		rule.mayMatchLess = plain != line
		line, rule.negated = strings.CutPrefix(plain, "!")
		line, rule.folders = strings.CutSuffix(line, "/")
		rule.unsupported = line == "" || len(line) > maxIgnoreLine || strings.Count(line, "**") > maxIgnoreDoubleStars
		if !rule.unsupported {
			anchored := strings.Contains(line, "/")
			rule.words = strings.Split(strings.TrimPrefix(line, "/"), "/")
			if !anchored {
				rule.words = append([]string{"**"}, rule.words...)
			}
			rule.words = slices.CompactFunc(rule.words, func(a, b string) bool { return a == "**" && b == "**" })
			for i, word := range rule.words {
				// Programs match sets and escapes differently from path.Match.
				if open := strings.IndexByte(word, '['); open >= 0 && strings.IndexByte(word[open:], ']') < 0 {
					rule.unsupported = true // a set goes on behind the slash
				}
				if n := strings.IndexAny(word, "[]\\"); n >= 0 {
					rule.words[i], rule.mayMatchLess = word[:n]+"*", true
				}
			}
		}
		rules = append(rules, rule)
	}
	return rules
}

// matches reports whether the rule matches a path relative to its file.
func (rule *ignoreRule) matches(rel []string, folder bool) bool {
	return !rule.unsupported && !rule.mayMatchLess && (!rule.folders || folder) && matchWords(rule.words, rel)
}

// mayMatch reports whether the rule may match, ignoring case as some file systems do.
func (rule *ignoreRule) mayMatch(rel []string, folder bool) bool {
	if rule.unsupported {
		return true
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

// matchWords matches a pattern's components with a path's.
func matchWords(pattern, words []string) bool {
	for i, p := range pattern {
		if p == "**" {
			if i == len(pattern)-1 {
				return len(words) > 0
			}
			for skip := range len(words) + 1 {
				if matchWords(pattern[i+1:], words[skip:]) {
					return true
				}
			}
			return false
		}
		if len(words) == 0 {
			return false
		}
		if ok, err := path.Match(p, words[0]); err != nil || !ok {
			return false
		}
		words = words[1:]
	}
	return len(words) == 0
}

// ignoreFile holds the rules of one ignore file; lost is set if they are not known.
type ignoreFile struct {
	rules   []ignoreRule
	unknown bool
}

// ignoreFile reads an ignore file, once in a call.
func (r *Resolver) ignoreFile(file string) ignoreFile {
	if known, ok := r.ignores[file]; ok {
		return known
	}
	var found ignoreFile
	text, err := r.fs.ReadFile(file, maxIgnoreFile)
	switch {
	case err == nil:
		found.rules = ignoreRules(string(text))
	case !errors.Is(err, fs.ErrNotExist):
		found.unknown = true
	}
	if r.ignores == nil {
		r.ignores = map[string]ignoreFile{}
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
		if (hidden && name[0] == '.' || ignored && r.ignored(root, at, folder)) && !r.reincluded(root, at, folder) {
			return true
		}
	}
	return false
}

// inRepository reports whether a folder is in a git repository: outside of one,
// .gitignore has no effect.
func (r *Resolver) inRepository(dir string) bool {
	for range maxIgnoreParents {
		if _, err := r.Lstat(Joined(dir, ".git")); err == nil {
			return true
		}
		if dir == "/" {
			break
		}
		dir = path.Dir(dir)
	}
	return false
}

// ignored reports whether the .gitignore files from root down certainly match a path:
// the last matching line counts. Files above the path's own repository do not apply.
func (r *Resolver) ignored(root, p string, folder bool) bool {
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
		for _, rule := range r.ignoreFile(Joined(dir, ".gitignore")).rules {
			if rule.matches(rel[depth:], folder) {
				out = !rule.negated
			}
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

func (f ignoreFile) mayReinclude(rel []string, folder bool) bool {
	return f.unknown || slices.ContainsFunc(f.rules, func(rule ignoreRule) bool { return rule.negated && rule.mayMatch(rel, folder) })
}

// commonIgnores returns the ignore files that apply to a whole repository, "" for one
// whose place is not known.
func (r *Resolver) commonIgnores(root string) []string {
	files := []string{root + "/.git/info/exclude"}
	home := ""
	if r.c != nil {
		home = r.c.User.Home
	}
	configs := []string{root + "/.git/config"}
	if path.IsAbs(home) {
		files = append(files, home+"/.config/git/ignore", home+"/.config/fd/ignore")
		configs = append(configs, home+"/.gitconfig", home+"/.config/git/config")
	}
	for _, config := range configs {
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
