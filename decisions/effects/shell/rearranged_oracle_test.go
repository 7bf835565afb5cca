package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/testload"
)

// TestRearrangedOracle: git puts links into its working tree from any folder in it, and into others
// that it makes. What a later part of the call reads through them is not known.
func TestRearrangedOracle(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const canary = "CANARY7z"
	filetest.Write(t, filepath.Join(top, "notes"), canary+"\n")
	project := filepath.Join(top, "p")
	run := func(dir, text string) string { return bashIn(top, dir, text) }
	reset := func() {
		for _, dir := range []string{project, filepath.Join(top, "dst")} {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		filetest.Write(t, filepath.Join(project, "README.md"), "hello\n")
		filetest.Write(t, filepath.Join(project, "src/a.txt"), "hello\n")
		run(project, "git init -q -b main . && git add . && git commit -qm 1 && git checkout -qb other && ln -sfn "+top+"/notes README.md && git commit -qam 2 && git format-patch -q -1 -o ../patch && git checkout -q main && ln -sfn "+top+"/notes README.md && git stash -q && mkdir src/.git")
	}
	texts := []string{"git clone -qb other . ../dst && cat ../dst/README.md", "git worktree add -q ../dst other; cat ../dst/README.md"}
	for _, change := range []string{
		"git checkout -q other", "git switch -q other", "git restore --source=other :/", "git stash pop -q", "git reset -q --hard other", "git merge -q other",
		"git rebase -q other", "git cherry-pick other", "git apply --directory= ../../patch/0001-2.patch", "git am -q ../../patch/0001-2.patch", "git pull -q . other",
		"git checkout -q other -- ../README.md",
	} {
		texts = append(texts, "cd src && "+change+" && cat ../README.md", "cd src; "+change+"; cd ..; cat README.md", strings.Replace(change, "git ", "git -C src ", 1)+"; cat README.md")
	}
	texts = testload.Sample(t, 12, texts)
	printed := 0
	for _, text := range texts {
		reset()
		printed += rearranged(t, top, project, text, canary, run)
	}
	if printed <= len(texts)/2 {
		t.Errorf("only %d of %d commands printed what the link leads to", printed, len(texts))
	}
}

// rearranged compares what a text prints with its effects, and returns 1 if it prints the canary.
func rearranged(t *testing.T, top, project, text, canary string, run func(dir, text string) string) int {
	t.Helper()
	c := &effects.Call{Cwd: project, User: effects.User{UID: uint32(os.Getuid()), Name: "ana", Home: top, Env: map[string]string{"HOME": top}}}
	env := paths.Environment{FS: paths.NewIndex(paths.OSFS{}, time.Now)}
	b := NewBuilder(env, effectstest.Table(t), c, paths.NewResolver(env, c))
	Text(b, text, project, "command")
	if !strings.Contains(run(project, text), canary) {
		return 0
	}
	if !slices.ContainsFunc(b.Effects, func(e effects.Effect) bool {
		return e.Kind == effects.KindUnknown && strings.Contains(e.Why, "what the path leads to") ||
			e.Kind == effects.KindRead && e.File != nil && e.File.Path == filepath.Join(top, "notes")
	}) {
		t.Errorf("%s prints what no effect has", text)
		for i := range b.Effects {
			t.Log(b.Effects[i].Text)
		}
	}
	return 1
}
