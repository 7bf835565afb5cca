package shell

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
)

// TestPathspecMagicOracle limits what git prints by pathspecs with magic, from the top of the
// working tree and from a folder. Whatever the real git prints is a read.
func TestPathspecMagicOracle(t *testing.T) {
	o := newContentsOracle(t)
	o.files = append(o.files, ".env", "more/.env")
	filetest.Write(t, filepath.Join(o.project, ".gitattributes"), "locked/* kept\n*.txt kind=a,exclude\n")
	for i, f := range o.files {
		if filepath.Base(f) == ".env" {
			filetest.Write(t, filepath.Join(o.project, f), fmt.Sprintf("first line\nMARK %d;\n", i))
		}
	}
	// Branches are named like folders: a name before -- is a branch, whatever is there.
	o.run(o.project, "git add -A && git commit -qm secrets && git branch more && git branch d && for f in a.txt locked/x .env more/.env more/b.txt; do echo more >>$f; done")
	const empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	seed, rounds := testload.Seed(t), testload.Rounds(t, "PERMD_TEST_CONTENTS", 150, 3000)
	rnd := rand.New(rand.NewPCG(seed, 6))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	spec := func() string {
		if rnd.IntN(5) == 0 {
			return pick(".", "..", "b.txt", "../more", "../locked", "locked", "*.txt", "no such")
		}
		return pick(":/", ":/", ":", "::", ":/:", ":!", ":^", ":/!", ":!/", ":(top)", ":(top)", ":(exclude)", ":(top,exclude)", ":(glob)", ":(top,glob)", ":(top,literal)", ":(icase)", ":(top,icase)", ":(,top)", ":()",
			":(attr:kept)", ":(top,attr:kept)", `:(attr:kind=a\,exclude)`, `:(top,attr:kind=a\,exclude)`, ":(exclude,attr:kept)", ":(prefix:0)", ":(prefix:0,top)", ":( top)", ":(top") +
			pick("", "", "", ".", "x", "locked", "locked/x", "LOCKED", "more", "m*", "*", "**", "./", "../", "../.e*", ".env", "b.txt", "z", "*/.env")
	}
	printed := 0
	// A small sample may print little by chance: then more is tried.
	for n := 0; n < rounds || printed < rounds && n < 20*rounds; n++ {
		text, cwd := "git", o.project
		switch rnd.IntN(3) {
		case 0:
			cwd = filepath.Join(cwd, "more")
		case 1:
			text += " -C " + pick("more", "locked/d")
		}
		text += " " + pick("grep MARK", "grep MARK", "grep MARK", "grep -e MARK", "grep --cached MARK", "grep MARK HEAD", "grep MARK more", "grep --untracked MARK", "diff", "diff HEAD", "diff "+empty, "diff "+empty+" more", "log -p", "log -p more",
			"show HEAD", "show HEAD~1", "diff-index -p "+empty, "diff-tree -p "+empty+" HEAD", "diff-files -p", "archive HEAD", "whatchanged -p")
		words := ""
		for range 1 + rnd.IntN(2) {
			words += " '" + spec() + "'"
		}
		if rnd.IntN(3) > 0 || !strings.Contains(text, " grep ") && strings.Contains(words, "':/") {
			text += " --" // other commands may take :/x for a commit, by its message, and show its changes
		}
		text += words
		printed += o.check(t, seed, text, cwd)
	}
	if printed < rounds {
		t.Errorf("seed %d: %d files printed in %d rounds", seed, printed, rounds)
	}
	t.Logf("%d files printed in %d rounds", printed, rounds)
	for _, text := range []string{"git grep MARK :/", "git grep MARK ':(top)'", "git grep --cached MARK -- :/", "git grep MARK HEAD -- :/", "git grep MARK ':(top,attr:kept)'", "git grep MARK more -- ':!x'",
		"git diff " + empty + " -- :/", "git diff " + empty + " -- ':!x'", "git log -p ':(top)'", "git show HEAD -- ':^x'", "git diff-tree -p " + empty + " HEAD -- :/", "git diff " + empty + " :/", "git grep MARK :/secrets", "git status -vv :/", "git status -vv -- ':!x'"} {
		if o.check(t, 0, text, filepath.Join(o.project, "more")) == 0 {
			t.Errorf("%s prints nothing", text)
		}
	}
}
