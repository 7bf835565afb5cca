package paths

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/internal/lexpath"
)

// Bounds of what is read of ignore files.
const (
	maxIgnoreFile        = 64 << 10 // bytes of one file
	maxIgnoreLine        = 256      // bytes
	maxIgnoreDoubleStars = 3        // ** in one line
	maxIgnoreParents     = 64       // folders above the one that is searched
)

// A search leaves a file out when it leaves out the file's name, or that of a
// folder on the way to it, for being hidden or by an ignore file. A line of any
// ignore file that begins with ! takes that back, for hidden names as well. So a
// name counts as left out only if no such line may match it; and by an ignore
// file only if a line is sure to, in the programs' own reading of the format. What
// cannot be read, or is written in a way that permd does not match, is taken for
// what lets the search in.

// IgnoreNames are the ignore files of git, ripgrep, fd and ag. Those below an
// earlier change of the call may say anything.
var IgnoreNames = []string{".gitignore", ".ignore", ".rgignore", ".agignore", ".fdignore"}

// ignoreRule is one line of an ignore file.
type ignoreRule struct {
	words        []string // components, "**" for any number of them
	negated      bool
	folders      bool // matches folders only
	mayMatchLess bool // it may match less than words say
	unsupported  bool // it is not known what it matches
}

// ignoreRules reads an ignore file.
func ignoreRules(text string) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " ")
		if line == "" || line[0] == '#' {
			continue
		}
		var rule ignoreRule
		// Not all leave out the end of a line of another system.
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
				// Programs match sets and escapes in other ways than path.Match.
				if n := strings.IndexAny(word, "[]\\"); n >= 0 {
					rule.words[i], rule.mayMatchLess = word[:n]+"*", true
				}
			}
		}
		rules = append(rules, rule)
	}
	return rules
}

// matches reports whether the rule matches a path in the folder of its file.
func (rule *ignoreRule) matches(rel []string, folder bool) bool {
	return !rule.unsupported && !rule.mayMatchLess && (!rule.folders || folder) && matchWords(rule.words, rel)
}

// may reports whether the rule may match: in some file systems, whatever the
// case of its letters.
func (rule *ignoreRule) may(rel []string, folder bool) bool {
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

// matchWords matches a pattern's components with those of a path.
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

// ignoreFile are the rules of one ignore file; lost when they are not known.
type ignoreFile struct {
	rules []ignoreRule
	lost  bool
}

// ignoreFile reads an ignore file, once for a call.
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
		found.lost = true
	}
	if r.ignores == nil {
		r.ignores = map[string]ignoreFile{}
	}
	r.ignores[file] = found
	return found
}

// skips reports whether a search of the folder dir, in the project at root, is
// sure to leave out a file below it: hidden says that it leaves out hidden names,
// ignored that it leaves out what .gitignore does.
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

// inRepository reports whether a folder lies in one of git's: outside, .gitignore
// is a file like others.
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

// ignored reports whether the .gitignore files from root down are sure to match a
// path itself: the last line that matches counts. Those above the repository that
// the path lies in do not.
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

// reincluded reports whether a line of an ignore file may let a search go to a
// path: of those in the folders above it, of the repository's own, and of those
// that hold for all of the user's repositories.
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
	if r.common == nil {
		r.common = map[string][]string{}
	}
	if _, known := r.common[root]; !known {
		r.common[root] = r.commonIgnores(root)
	}
	for _, file := range r.common[root] {
		if file == "" || r.ignoreFile(file).mayReinclude(inRoot, folder) {
			return true
		}
	}
	return false
}

func (f ignoreFile) mayReinclude(rel []string, folder bool) bool {
	return f.lost || slices.ContainsFunc(f.rules, func(rule ignoreRule) bool { return rule.negated && rule.may(rel, folder) })
}

// commonIgnores are the ignore files that hold in all folders of a repository, ""
// for one whose place is not known.
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
