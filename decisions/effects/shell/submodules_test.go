package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestNewSubmodule: git add makes submodules of the repositories that it finds, into which
// later commands of git go.
func TestNewSubmodule(t *testing.T) {
	table := effectstest.Table(t)
	const project = effectstest.Cwd
	for text, want := range map[string]bool{
		"git add sub; git status":     true,
		"git add .; git diff":         true,
		"git add -A; git status":      true,
		"git add '*'; git status":     true,
		"git add .; git commit -m x":  true,
		"git add src; git status":     false,
		"git add b.txt; git status":   false,
		"git add none; git status":    false,
		"git add sub":                 false,
		"git commit -m x; git status": false,
		"git status; git add .":       false,
	} {
		fs := effectstest.Files()
		fs.File(project+"/.git/HEAD", "ref: refs/heads/main\n").File(project+"/.git/index", "").File(project+"/.gitignore", "ignored/\n").
			File(project+"/sub/.git/config", "").File(project+"/ignored/x/.git/config", "").File(project+"/src/main.go", "")
		b := shellBuilder(table, effectstest.IndexOf(fs))
		Text(b, text, effectstest.Cwd, "command")
		if got := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return strings.Contains(e.Text, "changes what git obeys") }); got != want {
			t.Errorf("%s: not understood: %v, want %v", text, got, want)
		}
	}
}
