package effects

import (
	"errors"
	"io/fs"
	"slices"
)

// maxStrays is how many links of one run are shown that lead out of the project.
// All are looked at; one is enough to ask.
const maxStrays = 4

// followers are the options with which programs that go through folders follow
// the links in them; those without one always do.
var followers = map[string][]string{
	"ack": {"--follow"}, "ag": {"--follow"}, "cp": {"--dereference"}, "diff": nil, "egrep": {"--dereference-recursive"}, "fgrep": {"--dereference-recursive"},
	"find": {"-L", "-follow"}, "fd": {"--follow"}, "fdfind": {"--follow"}, "du": {"--dereference"}, "ls": {"--dereference"}, "tree": {"-l"},
	"grep": {"--dereference-recursive"}, "rg": {"--follow"}, "rsync": {"--copy-links"}, "scp": nil, "tar": {"--dereference"}, "zip": nil,
}

// followsLinks reports whether the run reads what the links in a folder lead to.
func (v *invocation) followsLinks() bool {
	options, ok := followers[v.run.Program]
	return ok && (len(options) == 0 && !v.has([]string{"--no-dereference", "--symlinks"}) || v.has(options))
}

// strays adds the reads of what lies outside of the project, or is guarded, to
// which links lead in a folder that the run goes through.
func (v *invocation) strays() {
	for n := 0; n < len(v.followed); n++ {
		shown := 0
		for _, link := range v.b.res.links(v.followed[n]) {
			e := v.b.operand(KindRead, link, "/", v.at.from)
			var mode fs.FileMode
			if e.File != nil {
				var err error
				if mode, err = v.b.res.lstat(e.File.Path); errors.Is(err, fs.ErrNotExist) || (e.Tags.Has(InProject) || e.Tags.Has(Worktree)) && e.Guarded() == 0 {
					continue
				}
			}
			if mode.IsDir() {
				v.b.res.recurse(&e, false)
			}
			v.b.add(v.via(0, e))
			if shown++; shown >= maxStrays {
				break
			}
		}
	}
	v.followed = nil
}

// links returns the links that are known in a folder of the session's, or of
// another working tree of its project, and below.
func (r *resolver) links(dir string) []string {
	s, ok := r.fs.(Surveyor)
	if !ok {
		return nil
	}
	var all []string
	for _, root := range r.searched(dir) {
		in := dir
		switch {
		case inside(root, dir):
		case inside(dir, root):
			in = root
		default:
			continue
		}
		for _, link := range s.Survey(root, in).Links {
			if !slices.Contains(all, link) {
				all = append(all, link)
			}
		}
	}
	return all
}

// findsLinks reports whether links are among what find gives to a command, or
// what lies in folders that they lead to: it is not told to find nothing but
// files.
func (v *invocation) findsLinks() bool {
	if v.has([]string{"-L", "-follow"}) {
		return true
	}
	files := false
	for i := range v.args {
		switch v.args[i].text {
		case "-o", "-or", ",", "!", "-not":
			return true
		case "-type":
			files = files || i+1 < len(v.args) && v.args[i+1].text == "f"
		}
	}
	return !files
}
