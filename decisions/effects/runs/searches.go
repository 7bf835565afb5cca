package runs

import (
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/wordset"
)

// searchReach returns the extent of a search: narrow is set if it only reads names that are
// not those of secrets, hidden if it includes hidden names.
func (v *invocation) searchReach(narrow, hidden bool) paths.Reach {
	switch {
	case narrow, ownReaders.Has(v.run.Program):
		return paths.ReachNamed
	case !v.p.SkipsHidden:
		return paths.ReachAll
	case !searchers.Has(v.run.Program):
		return paths.ReachNamed
	case hidden, v.b.ChangesIgnores():
		return paths.ReachAll
	case v.run.Program != "rg", v.has(ignoreOverrides):
		// permd does not implement ag's own reading of ignore files.
		return paths.ReachVisible
	}
	return paths.ReachShown
}

// ignoreOverrides are the options with which rg ignores fewer files than git does.
var ignoreOverrides = []string{
	"--no-ignore", "--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-files", "--no-ignore-global", "--no-ignore-parent", "--no-ignore-vcs",
	"--no-require-git", "--ignore-file-case-insensitive",
}

// searchers skip hidden names and print what they find. Other programs that skip hidden
// names are linters.
var searchers = wordset.Fields("rg ag")

// ownReaders read the files of a folder by their own selection, or according to a
// file of the project (.dockerignore).
var ownReaders = wordset.Fields("prettier biome markdownlint markdownlint-cli2 rubocop standardrb flutter dart deno docker podman nerdctl du")

// followOptions are the options with which programs follow links while they walk folders; a
// program without options always does.
var followOptions = map[string][]string{
	"ack": {"--follow"}, "ag": {"--follow"}, "cp": {"--dereference"}, "diff": nil, "egrep": {"--dereference-recursive"}, "fgrep": {"--dereference-recursive"},
	"find": {"-L", "-follow"}, "go": nil, "gofmt": nil, "fd": {"--follow"}, "fdfind": {"--follow"}, "du": {"--dereference"}, "ls": {"--dereference"}, "tree": {"-l"},
	"grep": {"--dereference-recursive"}, "gzip": {"--recursive"}, "gunzip": {"--recursive"}, "rg": {"--follow"}, "rsync": {"--copy-links"}, "scp": nil, "tar": {"--dereference"}, "zip": nil,
}

// followedNames are how the names of those links end that a program follows, if it does
// not follow all. gofmt follows no links to folders.
var followedNames = map[string]string{"gofmt": ".go"}

// followsLinks reports whether the run reads the targets of links in a folder.
func (v *invocation) followsLinks() bool {
	options, ok := followOptions[v.run.Program]
	return ok && (len(options) == 0 && !v.has([]string{"--no-dereference", "--symlinks"}) || v.has(options))
}

// readsThroughLinks adds the reads of the targets of links in the folders that the run
// walks.
func (v *invocation) readsThroughLinks() {
	more, complete := v.b.ReadsThroughLinks(v.followed, v.at.From)
	for _, e := range more {
		v.b.Add(v.via(0, e))
	}
	if !complete {
		v.unknown(0, "follows links, of which not all are known")
	}
	if len(more) > 0 && v.rewrites() {
		v.changes = true // what the links lead to is written, too
	}
	v.followed = nil
}
