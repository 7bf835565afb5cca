package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestOpenedChanged: what an earlier part of the call has changed is a file for the programs that open
// files by themselves only if it is certain that files were put there, and nothing since.
func TestOpenedChanged(t *testing.T) {
	for text, asks := range map[string]bool{
		"ln -sfn ../../out packages/x && npm ls":                   true, // x was a file
		"ln -sfn ../../out packages/q && npm ls":                   true,
		"cp a.txt src/n && rg foo src":                             false,
		"mv a.txt src/n && rg foo src":                             false,
		"mv a.txt src/n && rm src/n && mv sub src/n && rg foo src": true,
		"mv a.txt src/n && ln -sf ../.env src/n && rg foo src":     true,
		"mv a.txt src/n && mv b.txt src/m && rg foo src":           false,
	} {
		files := effectstest.Files()
		for file, body := range map[string]string{
			"package.json": `{"workspaces": ["packages/*"]}`, "packages/x": "", "a.txt": "x", "b.txt": "x", "sub/.gitignore": "x", "src/main.go": "package src\n",
		} {
			files.File(effectstest.Cwd+"/"+file, body)
		}
		b := shellBuilder(effectstest.Table(t), files)
		Text(b, text, effectstest.Cwd, "command")
		got := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool {
			return e.Kind == effects.KindUnknown && strings.Contains(e.Why, "links")
		})
		if got != asks {
			t.Errorf("%s: asks about links: %v, want %v", text, got, asks)
			for i := range b.Effects {
				t.Log(effectstest.Compact(&b.Effects[i]))
			}
		}
	}
}
