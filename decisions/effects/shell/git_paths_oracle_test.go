package shell

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
)

// TestGitPathsOracle names files of a repository by paths that git and the file system read
// differently: after what does not exist, is no folder, or is a link, and through /proc. Whatever the
// real git prints is a read.
func TestGitPathsOracle(t *testing.T) {
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Log("there is no /proc")
	}
	o := newContentsOracle(t)
	o.files = append(o.files, ".env", "more/.env")
	for i, f := range o.files {
		if filepath.Base(f) == ".env" {
			filetest.Write(t, filepath.Join(o.project, f), fmt.Sprintf("first line\nMARK %d;\n", i))
		}
	}
	for link, to := range map[string]string{"lo": "/usr/share", "in": "locked/d", "more/up": "../lockedtoo", "../plink": "p", "../deep": "p/more"} {
		if err := os.Symlink(to, filepath.Join(o.project, link)); err != nil {
			t.Fatal(err)
		}
	}
	o.run(o.project, "git add -A && git commit -qm secrets && for f in a.txt locked/x .env more/.env; do echo more >> $f; done")
	seed, rounds := testload.Seed(t), testload.Rounds(t, "PERMD_TEST_CONTENTS", 150, 3000)
	rnd := rand.New(rand.NewPCG(seed, 5))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	printed := 0
	// A small sample may print little by chance: then more is tried.
	for n := 0; n < rounds || printed < rounds/12 && n < 20*rounds; n++ {
		cwd, up := o.project, ""
		if rnd.IntN(4) == 0 {
			cwd, up = filepath.Join(cwd, "more"), "../"
		}
		name := pick("a.txt", "locked/x", "locked", ".env", "more/.env", "lockedtoo/y", "locked/d/m.txt", "lock*", ".e*")
		name = pick("", "", "", "", "nonexist/../", "nonexist/y/../../", "a.txt/../", "lo/../", "in/../", "in/../../", "more/up/../../", "more/up/../", "./", "more/../", "x*/../", "x*/y/../../", "more//..//") + name
		name = pick(up, up, up, "./"+up, "./nonexist/../"+up, "/proc/self/cwd/"+up, "/proc/self/root"+o.project+"/", o.project+"/", o.project+"/nonexist/../", o.top+"/plink/", o.top+"/plink/in/../", o.top+"/deep/../", o.top+"/deep/", "//"+o.project[1:]+"/") + name
		if rnd.IntN(6) == 0 {
			name = pick(":/", ":(top)", ":(literal)", ":(icase)", ":(glob)") + strings.TrimPrefix(name, up)
		}
		git := pick("git", "git", "git", "git", "git -C nonexist/..", "git -C in/..", "git -C ./", "git -C "+up+"more/..", "git --literal-pathspecs")
		text := git + " " + fmt.Sprintf(pick("blame '%s'", "annotate -- '%s'", "blame HEAD -- '%s'", "log -p -- '%s'", "log -p HEAD -- '%s'", "log -L1,2:'%s'", "log -L 1,2:'%s'", "show HEAD -- '%s'", "show HEAD:'%s'", "show HEAD:./'%s'", "show :'%s'",
			"cat-file -p HEAD:'%s'", "cat-file blob HEAD:./'%s'", "archive HEAD '%s'", "archive HEAD:more '%s'", "grep MARK -- '%s'", "grep MARK HEAD -- '%s'", "grep -e MARK '%s'", "diff HEAD -- '%s'", "diff '%s'", "diff HEAD~1 '%s'", "diff-index -p HEAD '%s'",
			"diff HEAD:a.txt HEAD:./'%s'", "whatchanged -p -- '%s'", "format-patch --stdout HEAD~1 -- '%s'", "diff-files -p -- '%s'", "diff --cached HEAD~1 -- '%s'", "stash show -p -- '%s'"), name)
		printed += o.check(t, seed, text, cwd)
	}
	if printed < rounds/12 {
		t.Errorf("seed %d: %d files printed in %d rounds", seed, printed, rounds)
	}
	t.Logf("%d files printed in %d rounds", printed, rounds)
}
