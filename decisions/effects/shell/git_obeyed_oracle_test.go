package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/internal/testload"
)

// TestGitsSettingsOfOthersOracle: programs other than git that obey the settings of a
// repository open files that these name, so such a run asks.
func TestGitsSettingsOfOthersOracle(t *testing.T) {
	o := newTracedOracle(t, "git")
	for _, file := range []string{"a.txt", "sub/b.txt"} {
		o.write(t, file, "hit\nb\n")
	}
	o.write(t, ".env", "KEY=x\n")
	git := func(dir, text string) {
		c := exec.CommandContext(t.Context(), "bash", "-c", text)
		c.Dir, c.Env = filepath.Join(o.project, dir), o.env
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v, %s", text, err, out)
		}
	}
	if err := os.RemoveAll(filepath.Join(o.project, ".git")); err != nil {
		t.Fatal(err)
	}
	git("", "git init -q . && git add a.txt && git commit -qm x && git init -q sub && git -C sub add b.txt && git -C sub commit -qm x && git init -q --bare bare")
	for _, file := range []string{"a.txt", "sub/b.txt"} {
		o.write(t, file, "hit\nc\n")
	}
	o.write(t, "bare/c.txt", "hit\n")
	type run struct{ text, cwd string }
	var runs []run
	ran := map[string]bool{}
	for _, text := range []string{
		"ag hit", "ag -g .", "ag hit ..", "batcat --style=full --color=always ../a.txt b.txt a.txt", "batcat --style=full --color=always sub/b.txt", "bat --style=changes --color=always --decorations=always sub/b.txt a.txt",
		"rg hit", "rg --files", "fdfind .", "fd .", "tree --gitignore", "tokei", "ack hit", "ls -la", "grep -r hit .", "less a.txt", "diff a.txt sub/b.txt", "cat a.txt", "du -a",
	} {
		name, _, _ := strings.Cut(text, " ")
		if _, err := exec.LookPath(name); err != nil {
			continue
		}
		ran[name] = true
		for _, dir := range []string{"", "sub", "bare"} {
			runs = append(runs, run{text, filepath.Join(o.project, dir)})
		}
	}
	obeyed := 0
	for _, set := range []struct{ dir, setting string }{
		{"", ""}, {"", "core.excludesFile"}, {"", "core.attributesFile"}, {"", "include.path"}, {"sub", "core.excludesFile"}, {"sub", "core.attributesFile"}, {"bare", "core.excludesFile"},
	} {
		if set.setting != "" {
			git(set.dir, "git config "+set.setting+" "+filepath.Join(o.project, ".env"))
		}
		for _, r := range testload.Sample(t, 10, runs) {
			b := onDisk(effectstest.Table(t), o.top, r.cwd, r.text)
			asks := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown || e.Tags.Has(effects.Secret) })
			if set.setting == "" && strings.HasPrefix(r.text, "ag ") && asks && r.cwd == o.project {
				t.Errorf("%s asks without settings", r.text)
			}
			if asks || !slices.Contains(o.trace(t, r.text, r.cwd).reads, filepath.Join(o.project, ".env")) || covers(b.Effects, effects.KindRead, filepath.Join(o.project, ".env")) {
				continue
			}
			obeyed++
			t.Errorf("%s in %s opens .env by %s of %q", r.text, r.cwd, set.setting, set.dir)
		}
		if set.setting != "" {
			git(set.dir, "git config --unset "+set.setting)
		}
	}
	t.Logf("ran %d programs, of which %d runs opened what a setting names", len(ran), obeyed)
}
