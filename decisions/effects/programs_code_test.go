package effects

import (
	"slices"
	"strings"
	"testing"
)

func TestHarmlessGitConfig(t *testing.T) {
	for _, setting := range []string{
		"color.ui=never", "core.pager=cat", "core.pager=", "pager.log=false", "core.quotePath=false", "core.editor=true", "commit.gpgsign=false", "core.fsmonitor=false",
		"advice.detachedHead=false", "init.defaultBranch=main",
	} {
		if !harmlessGitConfig(setting) {
			t.Errorf("%q is not harmless", setting)
		}
	}
	for _, setting := range []string{
		"core.pager=less", "core.pager", "core.pager=cat x", "core.editor=vi", "core.sshCommand=./x", "alias.x=!rm a", "core.hooksPath=/tmp", "diff.external=./x",
		"core.fsmonitor=./x", "core.fsmonitor", "protocol.ext.allow=always", "url.x.insteadOf=y", "credential.helper=!x", "filter.x.clean=y", "gpg.program=x",
		"http.proxy=x", "include.path=x", "core.attributesFile=x", "uploadpack.packObjectsHook=x", "push.default=matching", "remote.origin.url=x",
	} {
		if harmlessGitConfig(setting) {
			t.Errorf("%q is harmless", setting)
		}
	}
}

func TestPlainGoFlags(t *testing.T) {
	for _, flags := range []string{"-s -w", "-s", "-X a.b=c", "-s -w -X a.b=c -X a.c=d", "-X=a.b=c", "all=-N -l", "-m", "-N -l"} {
		if !plainGoFlags(flags) {
			t.Errorf("%q is not plain", flags)
		}
	}
	for _, flags := range []string{
		"-extld=./x", "-linkmode external", "-extldflags '-x'", "-X", "-X a.b", "-s -extld ./x", "-X 'a.b=c d'", "-X a.b=c -extld=./x", "all=-extld=x", "-toolexec=x",
		"-X=a='b", "-o=/tmp/x", "-o /tmp/x",
	} {
		if plainGoFlags(flags) {
			t.Errorf("%q is plain", flags)
		}
	}
}

// TestTargetText checks that a run of a target shows what the project's file
// says of it.
func TestTargetText(t *testing.T) {
	table := shippedTable(t)
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
		b := shellBuilder(table, programFiles())
		shellText(b, text, testCwd, "command")
		if got := b.effects[0].Text; got != want {
			t.Errorf("%s reads %q, want %q", text, got, want)
		}
	}
}

// TestForeignShells checks that text of PowerShell and cmd is a question, and
// that text of a Unix shell which looks a little like it is not.
func TestForeignShells(t *testing.T) {
	table := shippedTable(t)
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
		b := shellBuilder(table, programFiles())
		shellText(b, text, testCwd, "command")
		asks := slices.ContainsFunc(b.effects, func(e Effect) bool { return e.Kind == KindUnknown })
		if asks != want {
			t.Errorf("%s: asks: %v, want %v", text, asks, want)
		}
	}
}

// TestWrappedTooDeeply checks that sub-commands which wrap commands end.
func TestWrappedTooDeeply(t *testing.T) {
	table := shippedTable(t)
	for _, words := range []string{"uv run ", "ssh host ", "docker exec x ", "npx npx ", "python -m pip ", "bundle exec ", "kubectl exec x -- ", "rtk test "} {
		b := shellBuilder(table, programFiles())
		shellText(b, strings.Repeat(words, 400)+"ls", testCwd, "command")
		if n := len(b.effects); n > maxEffects+maxRunEffects {
			t.Errorf("%s: %d effects", words, n)
		}
	}
}
