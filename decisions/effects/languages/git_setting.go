package languages

import "strings"

// GitSetting reports whether a setting for one run of git only changes the
// format of its output. The value of a pager or editor is a program.
func GitSetting(setting string) bool {
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
