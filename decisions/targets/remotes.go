package targets

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

// gitRemotes says where a run of git sends what, or gets it from.
var gitRemotes = runner{bind: bindRemotes}

// reachesRemote reports whether a run of git reaches a remote whose address the repository says.
func reachesRemote(r *effects.Run) bool {
	return r.Program == "git" && slices.Contains([]string{"push", "fetch", "pull", "remote update"}, r.Subcommand)
}

// NamesRemotes reports whether the words of a line about git are those of a command that reaches a
// remote; "" is a word with a pattern.
func NamesRemotes(words []string) bool {
	for i, w := range words {
		switch w {
		case "push", "fetch", "pull":
			return true
		case "remote":
			return i+1 < len(words) && words[i+1] == "update"
		}
	}
	return false
}

// bindRemotes returns what a repository says of remotes and of how they are reached: all of its
// configuration but the sections of which that is certainly no part, what older versions of
// git keep of remotes, and the hooks. Where nothing is known of the repository, nothing
// is bound.
func bindRemotes(rd *reading, _ string) *effects.Script {
	// What git itself rearranges are working trees, not what it keeps of a repository.
	after := *rd.after
	after.Trees = nil
	rd.after = &after
	git := rd.gitFolder()
	if git == "" {
		return nil
	}
	common, file := git, path.Join(git, "commondir")
	if dir, ok := paths.GitLine(rd.fsys, file, ""); ok {
		common = lexpath.Abs(git, dir)
	} else if _, err := rd.fsys.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		rd.failed(file, "cannot be read")
	}
	var all []byte
	files := []string{common + "/config", git + "/config.worktree"}
	for _, dir := range []string{"remotes", "branches"} {
		for _, name := range rd.names(path.Join(common, dir)) {
			files = append(files, path.Join(common, dir, name))
		}
	}
	// Of a fetch too: it runs reference-transaction, and git gc its own; a pull those of a merge.
	for _, name := range rd.names(common + "/hooks") {
		if !strings.HasSuffix(name, ".sample") {
			files = append(files, path.Join(common, "hooks", name))
		}
	}
	for i, file := range files {
		text, there := rd.read(file)
		if i < 2 {
			text = remoteSettings(text, len(rd.run.Operands) > 0)
			if bytes.Contains(bytes.ToLower(text), []byte("[include")) {
				rd.failed(file, "includes other files, which may say where git's remotes are")
			}
		}
		all = appendFile(all, strings.TrimPrefix(file, common), text, there)
	}
	s := sum(common+"/config", all)
	s.What = "what is said of git's remotes in"
	return s
}

// gitFolder returns the folder of the repository that the run is in, "" if it is not known.
func (rd *reading) gitFolder() string {
	for dir := rd.cwd(); ; dir = path.Dir(dir) {
		at := path.Join(dir, ".git")
		mode, err := rd.fsys.Lstat(at)
		switch {
		case err == nil && mode.IsDir():
			return at
		case err == nil:
			if to, ok := paths.GitLine(rd.fsys, at, paths.GitFile); ok {
				return lexpath.Abs(dir, to)
			}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			rd.failed(at, "cannot be looked at")
			return ""
		}
		if dir == "/" {
			return path.Join(rd.cwd(), ".git") // what is not there is bound as well
		}
	}
}

// otherSections are sections of git's configuration that say nothing of remotes.
var otherSections = []string{"[user]", "[color]", "[diff]", "[gui]", "[column]", "[advice]", "[rerere]"}

// remoteSettings returns a configuration without the sections that say nothing of remotes, among
// which are those of branches if a remote is named. A line may go on in the next one, and then it
// is the whole.
func remoteSettings(text []byte, named bool) []byte {
	if bytes.Contains(text, []byte("\\\n")) || bytes.Contains(text, []byte("\\\r")) {
		return text
	}
	var out []byte
	skip := false
	for line := range bytes.Lines(text) {
		if head := bytes.TrimSpace(line); bytes.HasPrefix(head, []byte("[")) {
			skip = slices.Contains(otherSections, string(head)) || named && plainBranch(string(head))
		}
		if !skip {
			out = append(out, line...)
		}
	}
	return out
}

// plainBranch reports whether a line is the head of a section of a branch, and no more.
func plainBranch(head string) bool {
	name, ok := strings.CutPrefix(head, "[branch \"")
	if !ok {
		return false
	}
	name, ok = strings.CutSuffix(name, "\"]")
	return ok && !strings.ContainsAny(name, "\"\\]")
}
