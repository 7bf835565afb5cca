package shell

import (
	"io/fs"
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

// TestPathspecOracle gives git's commands that write or delete files random pathspecs, and
// compares what the real git changed with the effects: each file is one that an effect is
// about, or something in the call is unknown.
func TestPathspecOracle(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"a.txt", "A.md", "data/customers.db", "data/c.db", "data/deep/x", "src/a.go", "src/[c]ustom", "src/custom", "gone/x", ".permd/rules.yaml"}
	git := (&contentsOracle{env: gitEnv(top)}).run
	project := filepath.Join(top, "p")
	reset := func() {
		for _, f := range files {
			filetest.Write(t, filepath.Join(project, f), "changed\n")
		}
		if err := os.RemoveAll(filepath.Join(project, "gone")); err != nil {
			t.Fatal(err)
		}
		filetest.Write(t, filepath.Join(project, "new.o"), "new\n")
	}
	for _, f := range files {
		filetest.Write(t, filepath.Join(project, f), "committed\n")
	}
	git(project, "git init -q && git add -A && git commit -qm x")
	state := func() map[string]string {
		found := map[string]string{}
		err := filepath.WalkDir(project, func(p string, d fs.DirEntry, err error) error {
			if d.IsDir() && d.Name() == ".git" {
				return fs.SkipDir
			}
			if err == nil && d.Type().IsRegular() {
				text, _ := os.ReadFile(p)
				found[p] = string(text)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	table := effectstest.Table(t)
	seed, rounds := testload.Seed(t), testload.Rounds(t, "PERMD_TEST_PATHSPECS", 60, 600)
	rnd := rand.New(rand.NewPCG(seed, 1))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	changed := 0
	for n := 0; n < rounds || changed < rounds/4 && n < 20*rounds; n++ {
		reset()
		var spec strings.Builder
		spec.WriteString(pick("", "", "", "", ":", ":/", ":(icase)", ":(top)", ":(glob)", ":!", "./", "../"))
		for range 1 + rnd.IntN(3) {
			spec.WriteString(pick("a", "A", "data", "data/", "c", "*", "*", "?", "[c]", ".permd", "src/", "/", "gone", "customers.db", ".txt", `\*`, "**", "x"))
		}
		cwd := filepath.Join(project, pick("", "", "src", "data"))
		word := "'" + spec.String() + "'"
		if !strings.ContainsAny(spec.String(), `()!\`) && rnd.IntN(4) == 0 {
			word = spec.String()
		}
		text := pick("git restore ", "git checkout -- ", "git checkout HEAD -- ", "git rm -f ", "git rm -rf ", "git clean -fdx ", "git --icase-pathspecs restore ", "git restore -s HEAD -- ") + word
		b := onDisk(table, top, cwd, text)
		before := state()
		git(cwd, text)
		after := state()
		unknown := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown })
		for _, f := range append(files, "new.o") {
			p := filepath.Join(project, f)
			if before[p] == after[p] {
				continue
			}
			changed++
			if !unknown && !slices.ContainsFunc(b.Effects, func(e effects.Effect) bool {
				return e.File != nil && (e.Kind == effects.KindWrite || e.Kind == effects.KindDelete) &&
					(e.File.Path == p || e.File.Recursive && lexpath.In(e.File.Path, p))
			}) {
				t.Errorf("seed %d: %s in %s changes %s", seed, text, cwd, p)
				for i := range b.Effects {
					t.Log(b.Effects[i].Text)
				}
			}
		}
		git(project, "git reset -q")
	}
	if changed < rounds/4 {
		t.Errorf("seed %d: git changed only %d files in %d rounds", seed, changed, rounds)
	}
}
