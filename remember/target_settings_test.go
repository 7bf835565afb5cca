//go:build cgo

package remember_test

import (
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
)

// TestAllowAndSettings: a choice no longer holds where the program obeys settings that may
// change what it runs, or its name may mean another program.
func TestAllowAndSettings(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/p/package.json": `{"scripts": {"test": "vitest run"}}`, "/p/Makefile": "lint:\n\tgo vet\n", "/p/Cargo.toml": "", "/p/sub/x": "", "/p/a.js": "",
	}
	for _, c := range []struct{ command, file, text string }{
		{"npm test", "/p/.npmrc", "script-shell=./x\n"}, {"npm test", "/p/.npmrc", "node-options=--require ./x\n"}, {"npm test", "/.npmrc", "scriptShell=./x\n"},
		{"cd sub && npm test", "/p/sub/.npmrc", "script-shell=./x\n"}, {"pnpm test", "/p/.pnpmfile.cjs", ""}, {"pnpm test", "/p/pnpm-workspace.yaml", "scriptShell: ./x\n"},
		{"yarn test", "/p/.yarnrc.yml", "yarnPath: x\n"}, {"yarn test", "/p/.yarnrc", ""}, {"bun test", "/p/bunfig.toml", ""}, {"npx eslint a.js", "/p/.npmrc", "script-shell=./x\n"},
		{"cargo test", "/p/.cargo/config.toml", "[alias]\nt = 'run'\n"}, {"cargo test", "/p/.cargo/config.toml", "[build]\nrustc-wrapper = './x'\n"},
		{"npm test", "/p/.tool-versions", "nodejs path:./x\n"}, {"make lint", "/p/.tool-versions", "make path:./x\n"}, {"node a.js", "/p/.tool-versions", "nodejs path:./x\n"},
		{"go test ./...", "/p/mise.toml", "[env]\n_.path = './x'\n"},
	} {
		a, allow := rejecting(t, files)
		allow(nil)
		a.allowNarrowest(t, a.in(t, "/p", c.command))
		wantVerdict(t, a.in(t, "/p", c.command), decisions.Allow, c.command)
		a.fs().File(c.file, c.text)
		d := a.in(t, "/p", c.command)
		wantVerdict(t, d, decisions.Ask, c.command+" with "+c.file)
		if len(d.Widths) > 0 || d.NotRemembered == "" {
			t.Errorf("%s with %s is offered as %+v, and says %q", c.command, c.file, d.Widths, d.NotRemembered)
		}
		a.fs().Remove(c.file)
		wantVerdict(t, a.in(t, "/p", c.command), decisions.Allow, c.command+" without "+c.file)
	}
	a, _ := rejecting(t, files)
	for command, why := range map[string]string{
		"npx nx build": "what nx runs is decided by files", "bunx x": "what x runs", "mvn test": "build files that permd does not read", "gradle test": "build files", "cargo xtask ci": "files of the project name",
		"npm exec turbo run x": "what turbo runs", "make test": "no target test", "npm start": "no script start",
	} {
		if d := a.in(t, "/p", command); len(d.Widths) > 0 || !strings.Contains(d.NotRemembered, why) {
			t.Errorf("%s is offered as %+v, and says %q", command, d.Widths, d.NotRemembered)
		}
	}
	a.fs().File("/p/.npmrc", "save-exact=true\n").File("/p/.cargo/config.toml", "[net]\noffline = true\n").File("/p/.tool-versions", "nodejs 22.1.0\n")
	for _, command := range []string{"npm test", "cargo test", "npx eslint a.js", "make lint", "pnpm test", "go test ./..."} {
		if d := a.in(t, "/p", command); len(d.Widths) == 0 {
			t.Errorf("with harmless settings, %s cannot be remembered: %s", command, d.NotRemembered)
		}
	}
}
