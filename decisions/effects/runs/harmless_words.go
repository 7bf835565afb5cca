package runs

import (
	"strings"

	"github.com/permd/permd/internal/wordset"
)

// runnerWords mean the same to all runners of tests that know them: once and
// not again and again, more or less output, all in one process.
var runnerWords = wordset.Fields(`
	--watch=false --watchAll=false --no-watch --run --ci --silent --quiet --verbose --bail --coverage --no-coverage --passWithNoTests
	--runInBand --color --no-color --watch=0 --reporter=dot --reporter=verbose`)

// harmlessGitConfig reports whether a setting for one run of git only changes
// what its output looks like. A value of a pager or editor is a program.
func harmlessGitConfig(setting string) bool {
	key, value, _ := strings.Cut(setting, "=")
	key = strings.ToLower(key)
	switch key {
	case "core.quotepath", "core.abbrev", "core.commentchar", "log.date", "log.decorate", "log.abbrevcommit", "diff.noprefix", "diff.mnemonicprefix",
		"diff.renames", "diff.renamelimit", "diff.context", "diff.algorithm", "diff.colormoved", "status.short", "status.branch",
		"status.showuntrackedfiles", "status.relativepaths", "init.defaultbranch", "merge.conflictstyle", "column.ui", "grep.linenumber",
		"core.autocrlf", "core.safecrlf", "core.preloadindex", "core.untrackedcache", "index.threads", "pack.threads", "gc.auto",
		"rerere.enabled":
		return true
	case "core.pager", "pager.log", "pager.diff", "pager.show", "pager.branch", "pager.status", "pager.blame", "pager.tag", "pager.stash":
		return value == "cat" || value == "" && strings.Contains(setting, "=") || value == "false"
	case "core.editor", "sequence.editor":
		return value == "true" || value == ":"
	case "commit.gpgsign", "tag.gpgsign", "log.showsignature", "core.fsmonitor":
		return value == "false"
	}
	return strings.HasPrefix(key, "color.") || strings.HasPrefix(key, "advice.")
}
