package runs

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/wordset"
)

// AskForUncertainSearches asks if a call connects to the network and searches a folder
// that may hold a secret. Without a connection such a search does not ask: nearly all
// are harmless, and the result stays with the agent.
func (b *Builder) AskForUncertainSearches() {
	if len(b.Paths.UncertainSearches) == 0 || !slices.ContainsFunc(b.Effects, func(e effects.Effect) bool {
		return e.Kind == effects.KindConnect && !e.Tags.Has(effects.Loopback)
	}) {
		return
	}
	for i := range b.Effects {
		if e := &b.Effects[i]; e.Kind == effects.KindRead && e.File != nil && e.File.Recursive && slices.Contains(b.Paths.UncertainSearches, e.File.Path) && !e.Tags.Has(effects.Secret) {
			b.Unknown(e.From, "a search that may pass over a secret, in a call that reaches the network")
			return
		}
	}
}

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
	case hidden, v.b.changesIgnores():
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

// findsPlain reports whether find's expression passes only files whose names are not
// those of secrets to the command at i: each alternative of the expression tests for
// such names before the command.
func (v *invocation) findsPlain(i int) bool {
	begin := 0
	if n := len(v.operands); n > 0 {
		begin = v.operands[n-1] + 1
	}
	named, negated := false, false
	for j := begin; j < len(v.args); j++ {
		text := v.args[j].Text
		switch text {
		case "!", "-not":
			negated = true
			if j+1 < len(v.args) && (v.args[j+1].Text == "(" || v.args[j+1].Dynamic()) {
				return false
			}
			continue
		case "-o", "-or", ",":
			if !named {
				return false
			}
			named = false
		case "-name", "-iname":
			if j++; j >= len(v.args) || v.args[j].Dynamic() {
				return false
			}
			named = named || !negated && v.b.Table.PlainPattern(v.args[j].Text)
		case "-exec", "-execdir", "-ok", "-okdir":
			if !named {
				return false
			}
			for j++; j < len(v.args) && v.args[j].Text != ";" && (v.args[j].Text != "+" || v.args[j-1].Text != "{}"); j++ {
				continue
			}
		default:
			if o := v.p.Options[text]; o != nil && o.Arity != programs.ArityNone {
				j++ // its value is not part of the expression
			}
		}
		negated = false
	}
	return named && begin <= i
}

// findsLinks reports whether find may pass links, or files below linked folders, to a
// command: nothing restricts it to plain files.
func (v *invocation) findsLinks() bool {
	if v.has([]string{"-L", "-follow"}) {
		return true
	}
	files := false
	for i := range v.args {
		switch v.args[i].Text {
		case "-o", "-or", ",", "!", "-not":
			return true
		case "-type":
			files = files || i+1 < len(v.args) && v.args[i+1].Text == "f"
		}
	}
	return !files
}

// linkEnding returns how the names of the links end that find passes to the command at
// i, in lower case: as the last -name before it ends that is not an alternative, "" if
// there is none. With -L, a link may be a folder on the way.
func (v *invocation) linkEnding(i int) string {
	if v.has([]string{"-L", "-follow"}) {
		return ""
	}
	suffix := ""
	for j := 0; j < i; j++ {
		switch text := v.args[j].Text; text {
		case "-o", "-or", ",", "!", "-not", "(", ")":
			return ""
		case "-exec", "-execdir", "-ok", "-okdir":
			for j++; j < i && v.args[j].Text != ";" && (v.args[j].Text != "+" || v.args[j-1].Text != "{}"); j++ {
				continue
			}
		case "-name", "-iname":
			if j++; j < i && !v.args[j].Dynamic() {
				suffix = paths.LiteralEnd(v.args[j].Text)
			}
		default:
			if o := v.p.Options[text]; o != nil && o.Arity != programs.ArityNone {
				j++ // its value is not part of the expression
			}
		}
	}
	return suffix
}

// followOptions are the options with which programs follow links while they walk folders; a
// program without options always does.
var followOptions = map[string][]string{
	"ack": {"--follow"}, "ag": {"--follow"}, "cp": {"--dereference"}, "diff": nil, "egrep": {"--dereference-recursive"}, "fgrep": {"--dereference-recursive"},
	"find": {"-L", "-follow"}, "fd": {"--follow"}, "fdfind": {"--follow"}, "du": {"--dereference"}, "ls": {"--dereference"}, "tree": {"-l"},
	"grep": {"--dereference-recursive"}, "gzip": {"--recursive"}, "gunzip": {"--recursive"}, "rg": {"--follow"}, "rsync": {"--copy-links"}, "scp": nil, "tar": {"--dereference"}, "zip": nil,
}

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
	v.followed = nil
}

// ReadsThroughLinks returns the reads of the targets of links in folders that something
// walks, and whether they are all, or enough to ask.
func (b *Builder) ReadsThroughLinks(folders []paths.Followed, from string) (more []effects.Effect, complete bool) {
	return b.Paths.ReadsThroughLinks(folders, func(link string) effects.Effect { return b.Operand(effects.KindRead, link, "/", from) })
}
