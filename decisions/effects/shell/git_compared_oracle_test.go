package shell

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/runs"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/internal/lexpath"
	"github.com/permd/permd/internal/testload"
)

// notUnderstood reports whether a call asks because something in it is not known.
func notUnderstood(b *runs.Builder) bool {
	return slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown })
}

// TestComparedOracle gives git diff two paths, tracked and not, within and outside, in repositories
// and in what is none to git. Whatever the real git prints of a file that is not tracked is a read of
// it, and the run asks. In an ordinary repository words within ask nothing.
func TestComparedOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it compares with git in each kind of repository; TestLimitsOracle is the quick one")
	}
	states := []struct{ name, text string }{
		{"ordinary", "true"},
		{"linked", "git worktree add -q ../w && mv loose ../w/ && cp .gitignore ../w/"},
		{"none", "rm -rf .git"},
		{"empty", "rm -rf .git && mkdir .git"},
		{"without HEAD", "rm .git/HEAD"},
		{"a HEAD that is none", "echo x > .git/HEAD"},
		{"without objects", "rm -rf .git/objects"},
		{"a later version", "git config core.repositoryFormatVersion 99"},
		{"an unknown extension", "git config core.repositoryFormatVersion 1 && git config extensions.refStorage other"},
		{"an extension of the wrong version", "git config extensions.objectFormat sha1"},
		{"of somebody else", "chown -R 12345 .git"},
	}
	rounds := testload.Rounds(t, "PERMD_TEST_CONTENTS", 5, 400)
	for _, state := range states {
		t.Run(state.name, func(t *testing.T) {
			if state.name == "of somebody else" && os.Getuid() != 0 {
				t.Skip("only root can give files away")
			}
			o := newContentsOracle(t)
			for i, f := range []string{"loose/x", "loose/d/y", "loose/.env"} {
				filetest.Write(t, filepath.Join(o.project, f), fmt.Sprintf("LOOSE %d;\n", i))
			}
			filetest.Write(t, filepath.Join(o.top, "out/f"), "f\n")
			filetest.Write(t, filepath.Join(o.project, ".gitignore"), "loose\n")
			if err := os.Symlink("p", filepath.Join(o.top, "plink")); err != nil {
				t.Fatal(err)
			}
			if o.run(o.project, state.text+" && echo done") != "done\n" {
				t.Fatalf("%s fails", state.text)
			}
			project := o.project
			if state.name == "linked" {
				project = filepath.Join(o.top, "w")
			}
			seed := testload.Seed(t)
			rnd := rand.New(rand.NewPCG(seed, 7))
			pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
			within := []string{"a.txt", "locked", "more/b.txt", "loose", "loose/x", "loose/.env", "./loose/d", ".", project + "/loose", o.top + "/plink/loose", "HEAD", "main", "HEAD:a.txt"}
			outside := []string{"../out", "../out/f", o.top + "/out", "/dev/null", "../none", "../out/f", "../plink/../out"}
			printed := 0
			for n := 0; n < rounds || printed < 3 && n < 100+20*rounds && state.name != "linked"; n++ {
				words := []string{pick(within...), pick(append(outside, within...)...)}
				if rnd.IntN(2) == 0 {
					slices.Reverse(words)
				}
				if rnd.IntN(8) == 0 {
					words = append(words, pick(append(outside, within...)...))
				}
				if rnd.IntN(10) == 0 {
					words = []string{pick("lo*", "l*", "[al]*", "../[op]*")}
				}
				cwd := project
				text := pick("git diff ", "git diff ", "git diff -U1 ", "git diff --check ", "git diff -R ", "git --no-pager diff ", "git -C . diff ", "git diff --word-diff ", "git diff -S LOOSE ") + pick("", "", "", "-- ") + strings.Join(words, " ")
				if rnd.IntN(5) == 0 {
					text = "cd more && " + strings.NewReplacer(" ../", " ../../", " loose", " ../loose", " ./loose", " ../loose", " locked", " ../locked").Replace(text)
				}
				b := onDisk(effectstest.Table(t), o.top, cwd, text)
				out := o.run(cwd, text)
				reads := append(slices.Clone(b.Effects), b.Asides...)
				for i, f := range []string{"loose/x", "loose/d/y", "loose/.env"} {
					if !strings.Contains(out, fmt.Sprintf("LOOSE %d;", i)) {
						continue
					}
					printed++
					p := filepath.Join(project, f)
					if !slices.ContainsFunc(reads, func(e effects.Effect) bool {
						return e.Kind == effects.KindRead && e.File != nil && (e.File.Path == p || e.File.Recursive && lexpath.In(e.File.Path, p))
					}) || !notUnderstood(b) && words[0] != "HEAD:a.txt" {
						t.Errorf("seed %d: %s prints %s; it is no read, or the run does not ask", seed, text, f)
						for i := range reads {
							t.Log(reads[i].Text)
						}
					}
				}
				if state.name != "ordinary" && state.name != "linked" {
					continue
				}
				inside := !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(outside, w) || strings.ContainsAny(w, "*:") })
				if inside && notUnderstood(b) && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "plink") }) {
					t.Errorf("seed %d: %s asks", seed, text)
					for i := range b.Effects {
						t.Log(b.Effects[i].Text)
					}
				}
			}
			if printed < 3 && state.name != "linked" {
				t.Errorf("seed %d: %d files printed in %d rounds", seed, printed, rounds)
			}
			t.Logf("%d files printed", printed)
		})
	}
}
