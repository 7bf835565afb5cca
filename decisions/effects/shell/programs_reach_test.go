package shell

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/fsfake"
)

// TestBareProject: git takes a folder that looks like its own data for a repository
// and obeys its configuration, so such a folder is not harmless although the
// session is in it.
func TestBareProject(t *testing.T) {
	const dir = "/home/ana/src/x"
	whole := func(dir string) []string {
		return []string{dir + "/.git/HEAD", dir + "/.git/objects/", dir + "/.git/refs/"}
	}
	table := effectstest.Table(t)
	for name, c := range map[string]struct {
		files   []string
		command string
		want    bool // whether git is read-only
	}{
		"no repository":              {[]string{dir + "/a.txt"}, "git status", true},
		"its own data in the folder": {[]string{dir + "/HEAD", dir + "/config"}, "git status", false},
		"the same in a sub-folder":   {[]string{dir + "/HEAD", dir + "/objects/"}, "cd objects && git status", false},
		"a repository with a HEAD":   {append(whole(dir), dir+"/HEAD"), "git status", true},
		"and a sub-folder of that":   {append(whole(dir), dir+"/HEAD", dir+"/sub/"), "cd sub && git status", true},
		// git passes over a .git that lacks a part.
		"no objects, and data in the folder": {[]string{dir + "/HEAD", dir + "/.git/HEAD", dir + "/.git/refs/"}, "git status", false},
		"no references, and one above":       {append(whole("/home/ana/src"), dir+"/.git/HEAD", dir+"/.git/objects/"), "git status", false},
		"an empty one, and one above":        {append(whole("/home/ana/src"), dir+"/.git/"), "git status", false},
		"a whole one below another":          {append(whole("/home/ana/src"), whole(dir)...), "git status", true},
		"data that the call brings":          {[]string{dir + "/a.txt"}, "cp a.txt HEAD; git status", false},
		"data in another folder only":        {[]string{dir + "/bare/HEAD"}, "git status", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := shellBuilder(table, fsfake.New(c.files...))
			b.Call.Cwd = dir
			Text(b, c.command, dir, "command")
			var last *effects.Run
			for i := range b.Effects {
				if r := b.Effects[i].Run; r != nil {
					last = r
				}
			}
			if last == nil || last.Program != "git" || last.Readonly != c.want {
				t.Errorf("%+v, want read-only: %v", last, c.want)
			}
		})
	}
}
