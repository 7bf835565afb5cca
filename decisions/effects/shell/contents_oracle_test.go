package shell

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/testload"
)

// contentsOracle is a repository whose files each hold a line of their own, by which the
// output of a command tells what it read.
type contentsOracle struct {
	top, project string
	env          []string
	files        []string
}

// newContentsOracle makes the repository. The commits that its branches name change one other
// file alone.
func newContentsOracle(t *testing.T) *contentsOracle {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := &contentsOracle{
		top: top, project: filepath.Join(top, "p"), files: []string{"a.txt", "b.txt", "locked/x", "locked/d/m.txt", "more/b.txt", "two words", "more/[b].txt", ":(top)z", "lockedtoo/y"},
		env: gitEnv(top),
	}
	for i, f := range o.files {
		filetest.Write(t, filepath.Join(o.project, f), fmt.Sprintf("first line\nMARK %d;\n", i))
	}
	filetest.Write(t, filepath.Join(top, "none"), "")
	o.run(o.project, "git init -q -b main && git add -A && git commit -qm x && echo >c && git add c && git commit -qm y && git branch other && echo c >c && git commit -qam z")
	return o
}

// gitEnv is the environment of git for a person with a name and that home.
func gitEnv(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.c", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.c"}
}

// run returns what a command prints.
func (o *contentsOracle) run(cwd, text string) string {
	cmd := exec.Command("bash", "-c", text)
	cmd.Dir, cmd.Env = cwd, o.env
	out, _ := cmd.Output() // words that mean nothing are errors
	return string(out)
}

// check compares what a command prints with its effects, and returns how many files it printed.
func (o *contentsOracle) check(t *testing.T, seed uint64, text, cwd string) (printed int) {
	t.Helper()
	b := onDisk(effectstest.Table(t), o.top, cwd, text)
	out := o.run(cwd, text)
	if slices.ContainsFunc(b.Effects, func(e effects.Effect) bool {
		return e.Kind == effects.KindUnknown && !strings.Contains(e.Why, "any file of the history") // which has the reads as well
	}) {
		return 0
	}
	reads := append(slices.Clone(b.Effects), b.Asides...)
	for i, f := range o.files {
		if !strings.Contains(out, fmt.Sprintf("MARK %d;", i)) {
			continue
		}
		printed++
		p := filepath.Join(o.project, f)
		reads := reads
		if filepath.Base(f) == ".env" {
			// A secret must ask, or be in a folder that is searched for secrets.
			reads = slices.DeleteFunc(slices.Clone(reads), func(e effects.Effect) bool { return e.File != nil && !e.File.Recursive })
			reads = append(reads, b.Effects...)
		}
		if !slices.ContainsFunc(reads, func(e effects.Effect) bool {
			return e.Kind == effects.KindRead && e.File != nil && (e.File.Path == p || e.File.Recursive && lexpath.In(e.File.Path, p))
		}) {
			t.Errorf("seed %d: %s in %s prints %s, which no effect has", seed, text, cwd, f)
			for i := range reads {
				t.Log(reads[i].Text)
			}
		}
	}
	return printed
}

// TestDashesOracle puts -- at all places of commands that search or print, and compares what
// the real programs print with the effects.
func TestDashesOracle(t *testing.T) {
	o := newContentsOracle(t)
	seed, rounds := testload.Seed(t), testload.Rounds(t, "PERMD_TEST_CONTENTS", 150, 3000)
	rnd := rand.New(rand.NewPCG(seed, 2))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	printed := 0
	// A small sample may print little by chance: then more is tried.
	for n := 0; n < rounds || printed < rounds/8 && n < 20*rounds; n++ {
		words := strings.Fields(pick("git grep", "git grep", "git grep", "grep", "grep -r", "sed -n", "awk", "git cat-file", "git archive", "git show", "git blame"))
		for range rnd.IntN(2) {
			words = append(words, pick("-h", "-n", "-i", "--cached", "-C2", "-e MARK", "-f ../none", "-p"))
		}
		switch words[0] {
		case "sed":
			words = append(words, "/MARK/p")
		case "awk":
			words = append(words, "/MARK/")
		case "grep":
			words = append(words, "MARK")
		default:
			words = append(words, pick("MARK", "MARK", "HEAD", "HEAD:locked/x", "blob", "HEAD:locked", "main", "other"))
		}
		for range rnd.IntN(4) {
			words = append(words, pick("a.txt", "HEAD", "locked", "more", "b.txt", "HEAD:locked/x", "d/m.txt", "main"))
		}
		for range rnd.IntN(3) {
			words = slices.Insert(words, 2+rnd.IntN(len(words)-1), "--")
		}
		cwd := o.project
		if rnd.IntN(4) == 0 {
			cwd = filepath.Join(cwd, "more")
		}
		printed += o.check(t, seed, strings.Join(words, " "), cwd)
	}
	if printed < rounds/8 {
		t.Errorf("seed %d: %d files printed in %d rounds", seed, printed, rounds)
	}
	for _, text := range []string{"git grep -- MARK", "git grep -h -- MARK HEAD", "git grep -f ../none MARK", "git grep -f ../none a.txt a.txt", "git cat-file -p -- HEAD:locked/x", "git archive -- HEAD:locked d/m.txt"} {
		o.check(t, 0, text, o.project)
	}
}

// TestObjectsOracle names objects of all kinds in all ways, and compares what the real git prints
// of them with the effects. Names of commits are no reads: also of packed ones that git has
// listed.
func TestObjectsOracle(t *testing.T) {
	o := newContentsOracle(t)
	one := func(text string) string { return strings.TrimSpace(o.run(o.project, text)) }
	o.run(o.project, "git tag blob HEAD:locked/x; git tag -m x note HEAD:locked/d/m.txt; git tag tree HEAD:locked; git tag v1 HEAD; git tag -m x v2 HEAD")
	var objects []string
	for _, name := range []string{"HEAD:locked/x", "HEAD:a.txt", "HEAD:locked", "HEAD:", "HEAD:more/b.txt", "note", "HEAD", "HEAD~1"} {
		hash := one("git rev-parse " + name)
		objects = append(objects, hash, hash[:7], strings.ToUpper(hash[:9]), "x-1-g"+hash[:8])
	}
	commits := []string{one("git rev-parse HEAD"), one("git rev-parse --short HEAD~1"), "HEAD", "main", "other", "HEAD~1", "@", "HEAD^", "main..other", "v1", "v2", "HEAD^{tree}", "v1^{}", "HEAD@{0}"}
	commits = append(commits, commits[0]+".."+commits[1], commits[0]+"^", commits[1]+"^{commit}")
	objects = append(objects, "blob", "note", "tree", "v1", "HEAD", "other", "tags/blob", "refs/tags/blob")
	seed, rounds := testload.Seed(t), testload.Rounds(t, "PERMD_TEST_CONTENTS", 150, 3000)
	rnd := rand.New(rand.NewPCG(seed, 3))
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	for _, state := range testload.WithShort(t, 1, []string{"true", "git pack-refs --all", "git gc -q"}) {
		o.run(o.project, state)
		for _, c := range commits {
			for _, command := range []string{"git show ", "git diff ", "git cat-file -p "} {
				if reads := readsOf(t, o, command+"'"+c+"'"); len(reads) > 0 {
					t.Errorf("after %s: %s%s reads %s", state, command, c, reads)
				}
			}
		}
		printed := 0
		for n := 0; n < rounds || printed < 1+rounds/40 && n < 20*rounds; n++ {
			text := pick([]string{"git show", "git show --stat", "git show -s", "git cat-file -p", "git cat-file blob", "git diff", "git diff", "git diff-tree -p", "git archive", "git grep MARK", "git diff --cached", "git log -1 -p"})
			for range 1 + rnd.IntN(2) {
				text += " '" + pick([]string{"", "", "", "^"}) + pick(objects) + pick([]string{"", "", "", "^{}", "^{tree}", "^{blob}", "^{object}", ":d/m.txt", ":x", ":locked/x", "^{tree}:d/m.txt"})
				if rnd.IntN(5) == 0 {
					text += pick([]string{"..", "..."}) + pick(objects) + pick([]string{"", ":locked/x", ":x"})
				}
				text += "'"
			}
			if strings.Contains(text, "'^") {
				text = strings.Replace(text, "git show", "git show -s", 1) // it may show all commits, the first one too
			}
			if rnd.IntN(6) == 0 {
				text = pick([]string{"git show -s", "git show -s --oneline", "git show -s main", "git show --no-patch other"}) + pick([]string{" --tags", " --all", " --glob=*", " --glob='refs/tags/b*'", " --tags=n*", " --remotes", " --branches", " --reflog", " -g", " -g --tags", " --exclude=x --all"})
			}
			text += pick([]string{"", "", " a.txt", " c", " -- c", " --", " d/m.txt", " -- d/m.txt"})
			printed += o.check(t, seed, text, o.project)
		}
		if printed < 1+rounds/40 {
			t.Errorf("seed %d: %d files printed in %d rounds after %s", seed, printed, rounds, state)
		}
	}
}

// TestReferencesOracle: options for all references are no reads if these all lead to commits.
func TestReferencesOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it compares with git in many repositories; TestNamedReferencesOracle is the quick one")
	}
	o := newContentsOracle(t)
	o.run(o.project, "git tag v1 HEAD; git tag -m x v2 HEAD; git update-ref refs/remotes/origin/main HEAD~1; git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main")
	texts := []string{"git show --tags", "git show --all", "git show --remotes", "git show --glob='refs/tags/*'", "git show --branches", "git show -g"}
	for _, state := range testload.WithShort(t, 2, []string{"true", "git pack-refs --all", "git gc -q", "git tag v3 HEAD~1"}) {
		o.run(o.project, state)
		for _, text := range texts {
			if reads := readsOf(t, o, text); len(reads) > 0 {
				t.Errorf("after %s: %s reads %s", state, text, reads)
			}
		}
	}
	for _, state := range []string{"git tag blob HEAD:a.txt", "git pack-refs --all", "git tag -d blob && git tag -m x note HEAD:a.txt", "git tag -d note && git update-ref refs/notes/x/y HEAD:a.txt", "git update-ref -d refs/notes/x/y; mkdir .git/reftable",
		"rmdir .git/reftable; for i in $(seq 200); do git tag t$i HEAD; done"} {
		o.run(o.project, state)
		if reads := readsOf(t, o, "git show --all"); len(reads) == 0 {
			t.Errorf("after %s: git show --all reads nothing", state)
		}
		reftable := strings.Contains(state, "mkdir .git/reftable") // where references of replaced objects may be
		if reads := readsOf(t, o, "git show --branches"); len(reads) > 0 != reftable {
			t.Errorf("after %s: git show --branches reads %s", state, reads)
		}
	}
}

// TestLimitsOracle limits what git prints by pathspecs and by --relative, and compares what
// the real git prints with the effects.
func TestLimitsOracle(t *testing.T) {
	o := newContentsOracle(t)
	seed, rounds := testload.Seed(t), testload.Rounds(t, "PERMD_TEST_CONTENTS", 150, 3000)
	rnd := rand.New(rand.NewPCG(seed, 4))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	printed := 0
	for n := 0; n < rounds || printed < rounds/8 && n < 20*rounds; n++ {
		text := "git" + pick("", "", " -C locked", " -C more") + pick("", "", " --icase-pathspecs", " --literal-pathspecs", " --glob-pathspecs", " --noglob-pathspecs")
		command := pick(" log -p", " show main~2", " diff main~2 main", " grep MARK", " log -p --root main")
		if command == " diff main~2 main" {
			text += " diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 main"
		} else {
			text += command
		}
		limits := false
		if rnd.IntN(3) > 0 && command != " grep MARK" {
			text += " --relative" + pick("", "=locked", "=locked/", "=lock", "=more", "=locked/d", "=.", "=a")
			limits = true
		}
		if rnd.IntN(2) == 0 || !limits {
			text += " -- '" + pick("a.txt", "A.TXT", "LOCKED", "locked/x", "Locked/X", "a*", "m*/b.txt", "[a].txt", "more/[b].txt", "[b].txt", ":(top)z", "x", "X", "D", "*", "lock*") + "'"
		}
		printed += o.check(t, seed, text, o.project)
	}
	for _, text := range []string{"git --icase-pathspecs log -p -- A.TXT", "git --icase-pathspecs grep MARK -- LOCKED", "git -C locked log -p --relative", "git log -p --relative=locked"} {
		if o.check(t, 0, text, o.project) == 0 {
			t.Errorf("%s prints nothing", text)
		}
	}
	if printed < rounds/8 {
		t.Errorf("seed %d: %d files printed in %d rounds", seed, printed, rounds)
	}
}

// readsOf returns the reads of a command, with those that are kept aside.
func readsOf(t *testing.T, o *contentsOracle, text string) (reads []string) {
	t.Helper()
	b := onDisk(effectstest.Table(t), o.top, o.project, text)
	for _, e := range append(b.Effects, b.Asides...) {
		if e.Kind != effects.KindRun {
			reads = append(reads, e.Text)
		}
	}
	return reads
}
