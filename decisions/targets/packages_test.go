package targets

import (
	"path"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
)

// TestScripts: runs of package managers are bound to all that the script can see, and to
// nothing where it may see more.
func TestScripts(t *testing.T) {
	const plain = `{"name":"x","scripts":{"test":"vitest run","build":"vite build","all":"npm run build && npm test"}}`
	in := func(name, command, text, why string, more ...string) plainRun {
		files := map[string]string{"package.json": text}
		for _, m := range more {
			files[m] = "{}"
		}
		return plainRun{name: name, files: files, command: command, why: why}
	}
	script := func(text string) string { return `{"scripts":{"test":"` + text + `","build":"x"}}` }
	checkPlain(t, []plainRun{
		in("a script", "npm test", plain, ""), in("with words", "npm test -- --watch=false", plain, ""), in("one that runs others", "npm run all", plain, ""),
		in("with the table's tests", "npm test", script("node --test"), ""), in("all that match", "pnpm run /te.*/", plain, ""), in("bun's tests", "bun test", plain, ""),
		in("no start script", "npm start", plain, "no script start", "server.js"), in("of pnpm", "pnpm start", plain, "no script start", "server.js"), in("no such script", "npm run x", plain, "no script x"),
		in("a program of a package", "yarn x", plain, "no script x"), in("of pnpm", "pnpm x", plain, "no script x"), in("of bun", "bun run x", plain, "no script x"), in("no restart script", "npm restart", plain, "no script"),
		in("under another name of run", "npm urn start", plain, "no script start", "server.js"), in("after an option", "npm --silent start", plain, "no script start", "server.js"),
		in("after an option's value", "npm --loglevel test start", plain, "no script start", "server.js"), in("a script after an option", "npm run -s build", plain, ""), in("tests by another name", "npm t", plain, ""),
		in("make", "npm test", script("make test"), "further files"), in("a task runner", "npm test", script("turbo run test"), "further files"), in("wireit", "npm test", script("wireit"), "further files"),
		in("through npx", "npm test", script("npx nx test"), "further files"), in("escaped", "npm test", script(`\u006dake test`), "further files"),
		in("another package", "npm test", script("npm --prefix sub test"), "another package"), in("in another folder", "npm test", script("cd sub && npm test"), "another package"),
		in("all packages", "npm test", script("pnpm -r test"), "another package"), in("a workspace", "npm test", script("yarn workspace x test"), "another package"), in("of a name like it", "npm test", script("node make.js"), ""),
		{name: "a nearer node_modules", command: "npm test", cwd: "sub", files: map[string]string{"package.json": plain, "sub/node_modules/x": ""}, why: "node_modules without"},
		in("installing", "npm ci", plain, ""), in("with a lock file", "npm ci", plain, "", "package-lock.json"), in("native code", "npm install", plain, "binding.gyp", "binding.gyp"),
		in("workspaces", "npm install", `{"workspaces":["a"]}`, "workspaces have"), in("a folder as a package", "npm install", `{"dependencies":{"x":"file:./x"}}`, "lies in the project"),
		in("a path as a package", "npm install", `{"devDependencies":{"x":"./x"}}`, "lies in the project"), in("replaced by a folder", "npm install", `{"overrides":{"x":{"y":"file:x"}}}`, "lies in the project"),
		in("a package of the registry", "npm install", `{"dependencies":{"x":"^1.2.0"}}`, ""), in("pnpm's workspace", "pnpm install", plain, "pnpm-workspace.yaml", "pnpm-workspace.yaml"),
	})
	for _, c := range []struct {
		name, command string
		text, changed string // of package.json
		files         map[string]string
		same          bool
	}{
		{"another script", "npm test", plain, `{"name":"x","scripts":{"test":"vitest run"}}`, nil, true},
		{"the script", "npm test", plain, `{"scripts":{"test":"evil"}}`, nil, false},
		{"a dependency", "npm test", plain, `{"dependencies":{"x":"1"},"scripts":{"test":"vitest run"}}`, nil, true},
		{"a script with a variable of npm's", "npm test", script("vitest $npm_package_config_x"), `{"config":{"x":";evil"},` + script("vitest $npm_package_config_x")[1:], nil, false},
		{"which pnpm", "pnpm test", plain, `{"packageManager":"pnpm@1.0.0",` + plain[1:], nil, false},
		{"settings of bun", "bun test", plain, `{"trustedDependencies":["x"],` + plain[1:], nil, false},
		{"a dependency, with pnpm", "pnpm test", plain, `{"dependencies":{"x":"1"},` + plain[1:], nil, true},
		{"variables of bun", "bun test", plain, plain, map[string]string{".env.local": "PATH=./x"}, false},
		{"all that match", "pnpm run /te.*/", plain, `{"scripts":{"test":"vitest run","test:x":"evil"}}`, nil, false},
		{"a dependency, installed", "npm ci", plain, `{"dependencies":{"x":"1"},` + plain[1:], nil, false},
		{"what the lock file says", "npm ci", plain, plain, map[string]string{"package-lock.json": "{}"}, false},
		{"a test, and installing", "npm ci", plain, `{"name":"x","scripts":{"test":"evil"}}`, nil, true},
		{"a test, and installing with tests", "npm install-test", plain, `{"name":"x","scripts":{"test":"evil"}}`, nil, false},
		{"a dependency, and updating", "npm update", plain, `{"dependencies":{"x":"1"},` + plain[1:], nil, false},
		{"a dependency, yarn alone", "yarn", plain, `{"dependencies":{"x":"1"},` + plain[1:], nil, false},
		{"a dependency, yarn with an option", "yarn --frozen-lockfile", plain, `{"dependencies":{"x":"1"},` + plain[1:], nil, false},
		{"an install script", "npm ci", plain, `{"name":"x","scripts":{"prepare":"evil"}}`, nil, false},
	} {
		before := (&plainRun{files: map[string]string{"package.json": c.text}, command: c.command}).of(&effects.Disturbance{}, nil)
		after := (&plainRun{files: map[string]string{"package.json": c.changed}, command: c.command}).of(&effects.Disturbance{}, c.files)
		if before.Unbound != "" || after.Unbound != "" || (before.SHA256 == after.SHA256) != c.same {
			t.Errorf("%s: %+v, then %+v", c.name, before, after)
		}
	}
	outer := plainRun{command: "pnpm test", cwd: "sub", files: map[string]string{"sub/package.json": plain}}
	if a, b := outer.of(&effects.Disturbance{}, nil), outer.of(&effects.Disturbance{}, map[string]string{"package.json": `{"packageManager":"pnpm@1.0.0"}`}); a.SHA256 == b.SHA256 {
		t.Error("the package.json above says which pnpm runs, and the run is bound to the same text")
	}
	for command, file := range map[string]string{"npm test": ".npmrc", "pnpm test": ".config/pnpm/rc", "yarn test": ".yarnrc", "bun test": ".bunfig.toml", "npm ci": ".config/npm/npmrc"} {
		p := in("", command, plain, "")
		of := func(text string) string {
			return p.of(&effects.Disturbance{}, map[string]string{"../" + file: text}).SHA256
		}
		none, shell, other := p.of(&effects.Disturbance{}, nil).SHA256, of("script-shell = /tmp/x\n"), of("script-shell=/tmp/y\n")
		if none == shell || shell == other || none == other {
			t.Errorf("%s is bound to the same text, whatever ~/%s says", command, file)
		}
		if strings.HasSuffix(file, "rc") && file != ".yarnrc" && (none != of("# x\n//r.example/:_authToken=a\n") || none == of("//r.example/:tokenHelper=/tmp/x\n")) {
			t.Errorf("%s: tokens in ~/%s count, or the programs that print them do not", command, file)
		}
		if s := p.of(&effects.Disturbance{Written: []string{path.Dir(targetsRoot) + "/" + file}}, nil); s.Unbound == "" {
			t.Errorf("the call writes ~/%s: bound to %+v", file, s)
		}
	}
	for _, written := range []string{".npmrc", "bunfig.toml", "sub/.npmrc", "pnpm-workspace.yaml"} {
		p := in("", "npm test", plain, "")
		if s := p.of(&effects.Disturbance{Written: []string{targetsRoot + "/" + written}}, nil); s.Unbound == "" {
			t.Errorf("the call writes %s: bound to %+v", written, s)
		}
	}
}

// TestComposer: a script of composer is bound to all scripts, and what installs to all of
// composer.json.
func TestComposer(t *testing.T) {
	const plain = `{"scripts":{"test":["@lint","phpunit"],"lint":"phpcs"},"require":{"a/b":"1"}}`
	of := func(command, text string, more map[string]string) *effects.Script {
		return (&plainRun{files: map[string]string{"composer.json": text}, command: command}).of(&effects.Disturbance{}, more)
	}
	for command, why := range map[string]string{
		"composer test": "", "composer run-script test": "", "composer run lint": "", "composer install": "", "composer update a/b": "", "composer x": "no script x", "composer exec phpunit": "files of the project name",
		"composer global install": "files of the project name",
	} {
		checkPlain(t, []plainRun{{name: command, files: map[string]string{"composer.json": plain}, command: command, why: why}})
	}
	for text, why := range map[string]string{
		`{"scripts":{"test":"App\\Check::run"}}`: "PHP code", `{"scripts":{"test":["phpunit","App\\Check"]}}`: "PHP code", `{"scripts":{"test":"make test"}}`: "further files",
		`{"scripts":{"test":"x"},"scripts":{"test":"y"}}`: "several ways",
	} {
		checkPlain(t, []plainRun{{name: text, files: map[string]string{"composer.json": text}, command: "composer test", why: why}})
	}
	checkPlain(t, []plainRun{{name: "a path", files: map[string]string{"composer.json": `{"repositories":[{"type":"path","url":"x"}]}`}, command: "composer install", why: "lies in the project"}})
	for _, c := range []struct {
		name, command, changed string
		more                   map[string]string
		same                   bool
	}{
		{"a script that it calls", "composer test", `{"scripts":{"test":["@lint","phpunit"],"lint":"evil"},"require":{"a/b":"1"}}`, nil, false},
		{"a dependency", "composer test", `{"scripts":{"test":["@lint","phpunit"],"lint":"phpcs"},"require":{"a/b":"2"}}`, nil, true},
		{"where programs are", "composer test", `{"config":{"bin-dir":"x"},"scripts":{"test":["@lint","phpunit"],"lint":"phpcs"}}`, nil, false},
		{"a dependency, installed", "composer install", `{"scripts":{"test":["@lint","phpunit"],"lint":"phpcs"},"require":{"a/b":"2"}}`, nil, false},
		{"what the lock file says", "composer install", plain, map[string]string{"composer.lock": "{}"}, false},
	} {
		if before, after := of(c.command, plain, nil), of(c.command, c.changed, c.more); before.Unbound+after.Unbound != "" || (before.SHA256 == after.SHA256) != c.same {
			t.Errorf("%s: %+v, then %+v", c.name, before, after)
		}
	}
}

// TestRefused: words that name what build files define are never remembered, and those of the
// program itself are not held for such.
func TestRefused(t *testing.T) {
	for command, refused := range map[string]bool{
		"mvn test": true, "./mvnw verify": true, "./gradlew build": true, "gradle test": true, "nx build": true, "turbo run test": true, "cargo xtask": true, "deno task x": true, "mise run x": true,
		"pipenv run x": true, "bazel test //x": true, "cargo test": false, "cargo --config x xtask": true, "go test ./...": false, "deno test": false, "mise ls": false, "cargo +nightly xtask x": true,
		"cargo -q xtask": true,
	} {
		p := plainRun{name: command, command: command}
		if s := p.of(&effects.Disturbance{}, nil); (s != nil && s.Unbound != "") != refused {
			t.Errorf("%s: %+v", command, s)
		}
	}
}

// TestModules: python -m is bound to no module that Python may take in a compiled form.
func TestModules(t *testing.T) {
	of := func(command string, more ...string) *effects.Script {
		p := plainRun{files: map[string]string{"app.py": "1\n", "shop/__init__.py": "", "shop/cli.py": "1\n", "docs/x.md": ""}, command: command}
		files := map[string]string{}
		for _, m := range more {
			files[m] = "x"
		}
		return p.of(&effects.Disturbance{}, files)
	}
	for _, c := range []struct {
		command, added string
		changed        bool // asks again, or each time
	}{
		{"python -m pytest -q", "docs/y.md", false}, {"python -m pytest -q", "tests.txt", false}, {"python -m pytest -q", "json.abi3.so", true}, {"python -m pytest -q", "json.cpython-314-x86_64-linux-gnu.so", true},
		{"python -m pytest -q", "json/__init__.abi3.so", true}, {"python -m pytest -q", "json/__init__.cpython-314-darwin.so", true}, {"python -m pytest -q", "json/__init__.pyc", true}, {"python -m pytest -q", "google/cloud/x.py", true},
		{"python -m pytest -q", "sitecustomize.py", true}, {"python -m pytest -q", "pytest/__init__.abi3.so", true}, {"python -m pytest -q", "x.pth", true}, {"python -m pytest -q", "no-module/x.py", false},
		{"python -m app", "__pycache__/app.cpython-314.pyc", true}, {"python -m app", "app.abi3.so", true}, {"python -m app", "app.pyc", true}, {"python -m shop.cli", "shop/cli.abi3.so", true},
		{"python -m shop.cli", "shop/__pycache__/cli.cpython-314.pyc", true}, {"python -m shop.cli", "shop/__init__.abi3.so", true}, {"python -m shop", "shop/__main__.py", true}, {"python -m app", "__pycache__/other.cpython-314.pyc", false},
	} {
		before, after := of(c.command), of(c.command, c.added)
		if before.Unbound != "" || (after.SHA256 != before.SHA256) != c.changed {
			t.Errorf("%s with %s: %+v, then %+v", c.command, c.added, before, after)
		}
	}
	for command, bound := range map[string]bool{
		"python -m pdb x.py": false, "python -m runpy ./x": false, "python -m pytest tests/x.py": true, "python -m venv .venv": true, "python -m json.tool x.json": true, "python -m cProfile app.py": false, "python -m http.server": true,
	} {
		if s := of(command); (s.Unbound == "") != bound {
			t.Errorf("%s: %+v", command, s)
		}
	}
}
