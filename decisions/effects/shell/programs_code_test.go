package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
)

// TestTargetText checks that a run of a target shows the target's text in the
// project's file.
func TestTargetText(t *testing.T) {
	table := effectstest.Table(t)
	for text, want := range map[string]string{
		"npm run build":           "run npm run build (tsc -p .)",
		"npm run clean":           "run npm run clean (rm -rf dist)",
		"npm run nosuch":          "run npm run nosuch",
		"pnpm build":              "run pnpm build (tsc -p .)",
		"yarn run clean":          "run yarn run clean (rm -rf dist)",
		"npm run build -w x":      "run npm run build -w x",
		"npm run build -C docs":   "run npm run build -C docs",
		"make test":               "run make test (@echo one; go build ./...)",
		"make clean":              "run make clean (rm -rf out)",
		"make -f /tmp/x clean":    "run make -f /tmp/x clean",
		"make nosuch":             "run make nosuch",
		"just lint":               "run just lint (ruff check .)",
		"make clean V=1 -j4":      "run make clean V=1 -j4 (rm -rf out)",
		"make build clean":        "run make build clean (@echo one; go build ./...) (rm -rf out)",
		"pnpm --filter x build":   "run pnpm --filter x build",
		"npm run 'build; rm -rf'": "run npm run 'build; rm -rf'",
	} {
		b := shellBuilder(table, effectstest.ProgramFiles())
		Text(b, text, effectstest.Cwd, "command")
		if got := b.Effects[0].Text; got != want {
			t.Errorf("%s reads %q, want %q", text, got, want)
		}
	}
}

// TestForeignShells checks that text of PowerShell and cmd asks, and that similar
// text of a Unix shell does not.
func TestForeignShells(t *testing.T) {
	table := effectstest.Table(t)
	for text, want := range map[string]bool{
		"Get-ChildItem":                   true,
		"Get-Content x | Select-String y": true,
		"dir /s /b":                       true,
		"type C:x.txt /?":                 true,
		"del /q x":                        true,
		"cat %USERPROFILE%/x":             true,
		"ls '$env:HOME'":                  true,
		"mkdir /a:d x":                    true,
		"powershell.exe -c x":             true,
		"pwsh -EncodedCommand eAA=":       true,
		"cmd /c dir":                      true,
		"add-apt-repository x":            false,
		"apt-get update":                  false,
		"date +%H%M%S":                    false,
		"echo %PATH%":                     false,
		"git-lfs-x a":                     false,
		"ls /s/b":                         false,
		"grep -r Get-ChildItem src":       false,
		"printf %A%":                      true,
		"New-x":                           false,
		"find src -name '*.ts' -not -path '%TEMP%x'": true,
	} {
		b := shellBuilder(table, effectstest.ProgramFiles())
		Text(b, text, effectstest.Cwd, "command")
		asks := slices.ContainsFunc(b.Effects, func(e effects.Effect) bool { return e.Kind == effects.KindUnknown })
		if asks != want {
			t.Errorf("%s: asks: %v, want %v", text, asks, want)
		}
	}
}

// TestWrappedTooDeeply checks that the nesting of sub-commands that wrap commands
// is bounded.
func TestWrappedTooDeeply(t *testing.T) {
	table := effectstest.Table(t)
	for _, words := range []string{"uv run ", "ssh host ", "docker exec x ", "npx npx ", "python -m pip ", "bundle exec ", "kubectl exec x -- ", "rtk test "} {
		b := shellBuilder(table, effectstest.ProgramFiles())
		Text(b, strings.Repeat(words, 400)+"ls", effectstest.Cwd, "command")
		if n := len(b.Effects); n > MaxEffects+256 {
			t.Errorf("%s: %d effects", words, n)
		}
	}
}
