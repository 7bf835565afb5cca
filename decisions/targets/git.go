package targets

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/settings"
	"github.com/permd/permd/internal/lexpath"
)

// gitRepository is what a run of git obeys: the settings and hooks of the repository that it is
// in, and what these name. Any sub-command that is not read-only may run programs that they
// name, so none is excepted.
var gitRepository = runner{
	redirectingOptions: []string{"--git-dir", "--work-tree", "--exec-path"},
	bind:               bindGit,
}

// Bounds of what is read for one run of git.
const (
	maxRepositories = 32  // submodules, and local repositories that are reached
	maxNamed        = 512 // words of settings
	maxOwn          = 32  // files of settings of the person and the system
	maxIndex        = 32 << 20
)

// gitReading collects what a run of git obeys.
type gitReading struct {
	*reading
	all  []byte          // what the answer is bound to
	seen map[string]bool // folders of repositories, and files that settings name
}

// bindGit returns what git obeys in the repository of a run. Where nothing is known of the
// repository, nothing is bound.
func bindGit(rd *reading, _ string) *effects.Script {
	// What git itself rearranges are working trees, not what it keeps of a repository.
	after := *rd.after
	after.Trees = nil
	rd.after = &after
	found := rd.gitFolders()
	if len(found) == 0 {
		return nil
	}
	g := &gitReading{reading: rd, seen: map[string]bool{}}
	own := g.persons()
	common := ""
	for _, f := range found {
		common = cmp.Or(common, g.repository(f.top, f.git, "", own))
		for _, word := range rd.run.Operands {
			g.reached(rd.cwd(), word)
			g.reached(f.top, word)
		}
	}
	s := sum(common+"/config", g.all)
	s.What = "what git obeys in"
	return s
}

// add adds a file that git reads, under a name that does not depend on where the repository is.
func (g *gitReading) add(name, file string, keep func(text []byte) []byte) []byte {
	text, there := g.read(file)
	if keep != nil {
		text = keep(text)
	}
	g.all = appendFile(g.all, name, text, there)
	return text
}

// executable adds a file that git may run, to which links may lead, and whether it can be run:
// git passes over a hook that cannot.
func (g *gitReading) executable(name, file string) {
	names, ok := namesOf(g.fsys, file)
	if !ok {
		g.failed(file, "cannot be looked at")
		return
	}
	last := names[len(names)-1]
	for _, link := range names[:len(names)-1] {
		g.note(link)
	}
	if mode, err := g.fsys.Lstat(last); err == nil && mode&0o111 != 0 {
		name += " x"
	}
	g.add(name, last, nil)
}

// repository adds what git obeys in a repository, and returns its folder that all its working
// trees share. A bare one has no top.
func (g *gitReading) repository(top, git, name string, own []byte) (common string) {
	common = git
	if g.seen[git] {
		return common
	}
	if g.seen[git] = true; len(g.seen) > maxRepositories+maxNamed {
		g.failed(git, "is reached with more repositories than are looked at")
		return common
	}
	file := path.Join(git, "commondir")
	if dir, ok := paths.GitLine(g.fsys, file, ""); ok {
		common = lexpath.Abs(git, dir)
	} else if _, err := g.fsys.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		g.failed(file, "cannot be read")
	}
	texts := slices.Clone(own)
	for _, f := range []struct{ name, file string }{{"config", common + "/config"}, {"config.worktree", git + "/config.worktree"}} {
		text := g.add(name+f.name, f.file, obeyedSettings)
		if bytes.Contains(bytes.ToLower(text), []byte("[include")) {
			g.failed(f.file, "includes other files, which may say what git runs")
		}
		texts = append(append(texts, text...), '\n')
	}
	for _, dir := range []string{"remotes", "branches", "hooks"} {
		for _, n := range g.names(path.Join(common, dir)) {
			// Of any command: each that writes references runs reference-transaction.
			if dir != "hooks" || !strings.HasSuffix(n, ".sample") {
				g.executable(path.Join(name, dir, n), path.Join(common, dir, n))
			}
		}
	}
	// A rebase goes on with the commands that are left in its list.
	g.add(name+"todo", path.Join(git, "rebase-merge/git-rebase-todo"), commandsOf)
	g.add(name+"strategy", path.Join(git, "rebase-merge/strategy"), nil)
	g.attributes(name+"attributes", path.Join(common, "info/attributes"))
	base := top
	if base == "" {
		base = git
	}
	g.namedBy(base, texts)
	if top != "" {
		g.tree(top, git, name, bytes.Contains(bytes.ToLower(texts), []byte("sha256")))
	}
	return common
}

// tree adds what git reads of a working tree: which files have drivers, and the repositories of
// submodules, into which git goes by itself.
func (g *gitReading) tree(top, git, name string, sha256 bool) {
	file := path.Join(git, "index")
	if slices.Contains(g.after.Paths, file) {
		g.failed(file, "may get other repositories by the call itself")
	}
	var indexed settings.Indexed
	data, err := g.fsys.ReadFile(file, maxIndex)
	if err == nil {
		indexed, err = settings.ReadIndexed(data, sha256)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.failed(file, "is not understood")
	}
	attributes := append(indexed.Attributes, ".gitattributes")
	for dir := g.cwd(); dir != top && lexpath.In(top, dir); dir = path.Dir(dir) {
		below, _ := lexpath.RelBelow(top, dir)
		attributes = append(attributes, path.Join(below, ".gitattributes"))
	}
	slices.Sort(attributes)
	for _, a := range slices.Compact(attributes) {
		if len(attributes) > maxNamed {
			g.failed(file, "has more files of attributes than are looked at")
			break
		}
		g.attributes(path.Join(name, "tree", a), path.Join(top, a))
	}
	g.add(name+"modules", path.Join(top, ".gitmodules"), nil)
	for _, link := range indexed.Links {
		sub := path.Join(top, link)
		if !lexpath.In(top, sub) {
			g.failed(file, "names a folder outside")
			return
		}
		g.local(sub, path.Join(name, "sub", link)+"/")
	}
}

// attributes adds the lines of a file of attributes that may name a driver; one without them is
// as good as none.
func (g *gitReading) attributes(name, file string) {
	if text, _ := g.read(file); len(driversOf(text)) > 0 {
		g.all = appendFile(g.all, name, driversOf(text), true)
	}
}

// local adds the repository in a folder, if there is one.
func (g *gitReading) local(dir, name string) {
	at := path.Join(dir, ".git")
	mode, err := g.fsys.Lstat(at)
	switch {
	case err == nil && mode.IsDir():
		g.repository(dir, at, name, nil)
	case err == nil:
		to, ok := paths.GitLine(g.fsys, at, paths.GitFile)
		if !ok {
			g.failed(at, "cannot be read")
			return
		}
		g.repository(dir, lexpath.Abs(dir, to), name, nil)
	case !errors.Is(err, fs.ErrNotExist):
		g.failed(at, "cannot be looked at")
	case g.present(path.Join(dir, "HEAD")):
		g.repository("", dir, name, nil)
	}
}

// present reports whether there is, or may be, something at a path.
func (g *gitReading) present(file string) bool {
	_, err := g.fsys.Lstat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// foundGit is a repository that git may find for a run: the top of a working tree and the folder
// with its data.
type foundGit struct{ top, git string }

// gitFolders returns the repositories that git may find for the run, none if that is not known.
// git passes over a .git that is not a repository, so there may be several.
func (rd *reading) gitFolders() (found []foundGit) {
	for dir := rd.cwd(); ; dir = path.Dir(dir) {
		git := path.Join(dir, ".git")
		mode, err := rd.fsys.Lstat(git)
		there := err == nil
		if there && !mode.IsDir() {
			to, ok := paths.GitLine(rd.fsys, git, paths.GitFile)
			if !ok {
				err = fs.ErrInvalid
			}
			git = lexpath.Abs(dir, to)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			rd.failed(".git", "cannot be looked at")
			return nil
		}
		if there {
			found = append(found, foundGit{dir, git})
			if _, err := rd.fsys.Lstat(path.Join(git, "HEAD")); err == nil {
				return found
			}
		}
		if dir == "/" {
			break
		}
	}
	if len(found) == 0 { // what is not there is bound as well
		found = []foundGit{{rd.cwd(), path.Join(rd.cwd(), ".git")}}
	}
	return found
}
