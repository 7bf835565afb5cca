package effects

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Bounds of what is read of a repository to find out what a search leaves out.
const (
	maxIgnoreFile = 64 << 10 // bytes of one .gitignore
	maxIgnoreLine = 256      // bytes; longer ones are taken for none
	maxIgnoreDeep = 3        // ** in one line
	maxGitIndex   = 8 << 20  // bytes of the list of tracked files
)

// ignored reports whether git's ignore files leave a path below root out, as rg
// and most agents' own searches do. What cannot be read or is not understood
// leaves nothing out.
func (r *resolver) ignored(root, p string) bool {
	rel := strings.Split(strings.TrimPrefix(p[len(root):], "/"), "/")
	rules := make([][]ignoreRule, len(rel)) // of the files in root and in each folder on the way
	dir := root
	for depth := range rel {
		if depth > 0 {
			dir = joined(dir, rel[depth-1])
		}
		if text, err := r.fs.ReadFile(joined(dir, ".gitignore"), maxIgnoreFile); err == nil {
			rules[depth] = ignoreRules(string(text))
		}
		// A folder that is left out takes all below with it.
		if leftOut(rules[:depth+1], rel[:depth+1], depth+1 < len(rel)) {
			return true
		}
	}
	return false
}

// ignoreRule is one line of an ignore file.
type ignoreRule struct {
	words   []string // components, "**" for any number of them
	negated bool
	folders bool // matches folders only
}

func ignoreRules(text string) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \r\t")
		if line == "" || line[0] == '#' || len(line) > maxIgnoreLine {
			continue
		}
		var rule ignoreRule
		line, rule.negated = strings.CutPrefix(line, "!")
		line, rule.folders = strings.CutSuffix(line, "/")
		if line == "" {
			continue
		}
		anchored := strings.Contains(line, "/")
		rule.words = strings.Split(strings.TrimPrefix(line, "/"), "/")
		if !anchored {
			rule.words = append([]string{"**"}, rule.words...)
		}
		rule.words = slices.CompactFunc(rule.words, func(a, b string) bool { return a == "**" && b == "**" })
		if strings.Count(line, "**") <= maxIgnoreDeep {
			rules = append(rules, rule)
		}
	}
	return rules
}

// leftOut decides on a path by the rules of the folders above it: the last one
// that matches counts.
func leftOut(rules [][]ignoreRule, rel []string, folder bool) bool {
	out := false
	for depth := range rules {
		for _, rule := range rules[depth] {
			if (!rule.folders || folder) && matchWords(rule.words, rel[depth:]) {
				out = !rule.negated
			}
		}
	}
	return out
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

// tracked reports whether git knows a path below root, which is what git grep
// and git archive go through. What cannot be told counts as known.
func (r *resolver) tracked(root, p string) bool {
	data, err := r.gitIndex(joined(root, ".git"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false // nothing was ever added
	case err != nil, len(data) < 8, !bytes.HasPrefix(data, []byte("DIRC")), data[7] != 2 && data[7] != 3:
		return true
	}
	// In versions 2 and 3 the whole name stands there, ended by a zero.
	return bytes.Contains(data, []byte(strings.TrimPrefix(p[len(root):], "/")+"\x00"))
}

// gitIndex reads the list of tracked files. In worktrees and submodules, .git
// is a file that says where it lies.
func (r *resolver) gitIndex(git string) ([]byte, error) {
	if mode, err := r.lstat(git); err != nil || !mode.IsRegular() {
		return r.fs.ReadFile(git+"/index", maxGitIndex)
	}
	text, err := r.fs.ReadFile(git, maxPath)
	if err != nil {
		return nil, err
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return nil, errors.New("not the name of a repository")
	}
	if !path.IsAbs(dir) {
		dir = path.Join(path.Dir(git), dir)
	}
	return r.fs.ReadFile(dir+"/index", maxGitIndex)
}
