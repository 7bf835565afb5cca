package shell

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/lexpath"
)

// TestFolderPatternsOracle: what real shells make of a pattern of folders is read by an
// effect, or the pattern is not understood.
func TestFolderPatternsOracle(t *testing.T) {
	t.Parallel()
	o := newShellOracle(t)
	outside := t.TempDir()
	for _, dir := range []string{"a/b/c", "a/bb/c", "ab/b/c", "b/a/b", ".a/b/c"} {
		if err := os.MkdirAll(filepath.Join(o.root, "t", dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"a/x", "a/b/x", "a/b/c/x", "a/bb/c/.x", "ab/b/c/ax", "b/a/b/a", ".a/b/c/x", "x"} {
		if err := os.WriteFile(filepath.Join(o.root, "t", file), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"ab/b/l": outside, "b/a/c": "../../a/b"} {
		if err := os.Symlink(to, filepath.Join(o.root, "t", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "x"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	texts := 400
	if testing.Short() {
		texts = 40
	}
	parts := []string{"a", "b", "*", "a*", "*b", "?", "??", "[ab]", ".*", "..", ".", "c", "x", "?b", "*a*", "l", "**"}
	understood := 0
	for seed := range texts {
		g := rand.New(rand.NewPCG(uint64(seed), 0))
		words := []string{"t"}
		for range 1 + g.IntN(4) {
			words = append(words, parts[g.IntN(len(parts))])
		}
		pattern := strings.Join(words, "/")
		if g.IntN(8) == 0 {
			pattern += "/"
		}
		b := onDisk(o.table, o.root+"/a", o.root, "cat "+pattern)
		if slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown }) {
			continue
		}
		understood++
		for _, shell := range o.shells {
			if len(shell) < 3 || shell[len(shell)-1] != "-c" {
				continue
			}
			cmd := exec.CommandContext(t.Context(), shell[0], append(slices.Clone(shell[1:]), "printf '%s\\n' "+pattern)...)
			cmd.Dir = o.root
			out, err := cmd.Output()
			if err != nil {
				continue // zsh: no matches
			}
			for name := range strings.Lines(string(out)) {
				at, err := filepath.EvalSymlinks(filepath.Join(o.root, strings.TrimSuffix(name, "\n")))
				if err != nil {
					continue // the pattern itself
				}
				if !slices.ContainsFunc(b.Effects, func(e effects.Effect) bool {
					return e.Kind == effects.KindRead && e.File != nil && (e.File.Path == at || e.File.Recursive && lexpath.In(e.File.Path, at))
				}) {
					t.Errorf("cat %s reads %s in %s, which is no effect", pattern, at, shell[0])
				}
			}
		}
	}
	if t.Logf("%d of %d patterns understood", understood, texts); understood < texts/10 {
		t.Errorf("only %d of %d patterns are understood", understood, texts)
	}
}
