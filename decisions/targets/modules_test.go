package targets

import (
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
)

// TestTargetsOneByOne: a run is bound to what it executes, and to nothing that only its
// neighbours do.
func TestTargetsOneByOne(t *testing.T) {
	const root = "/home/ana/shop"
	const scripts = `{"scripts":{"test":"vitest","build":"vite build","dev":"vite","all":"npm run build","lint":"eslint \u0073rc"}}`
	files := func(more map[string]string) *fsfake.FS {
		fs := fsfake.New(root + "/.git/HEAD")
		fs.File(root+"/package.json", scripts).File(root+"/compose.yaml", "services:\n").File(root+"/app.py", "1\n").Dir(root + "/docs")
		for name, text := range more {
			fs.File(root+"/"+name, text)
		}
		return fs
	}
	of := func(fs *fsfake.FS, after *effects.Disturbance, words ...string) *effects.Script {
		r := &effects.Run{Program: words[0], Args: words[1:], Cwd: root, Known: true}
		for _, w := range r.Args[1:] {
			if w == "-f" {
				r.Flags = []string{"--file"}
			}
		}
		return bound(fs, r, after)
	}
	build := []string{"npm", "run", "build"}
	pytest := []string{"python3", "-m", "pytest", "-q"}
	up := []string{"docker", "compose", "up", "-d"}
	for _, tt := range []struct {
		name    string
		words   []string
		changed map[string]string
		same    bool
	}{
		{"another script", build, map[string]string{"package.json": `{"scripts":{"test":"evil","build":"vite build"}}`}, true},
		{"the script", build, map[string]string{"package.json": `{"scripts":{"build":"evil"}}`}, false},
		{"a script before it", build, map[string]string{"package.json": `{"scripts":{"build":"vite build","prebuild":"evil"}}`}, false},
		{"a script after it", build, map[string]string{"package.json": `{"scripts":{"build":"vite build","postbuild":"evil"}}`}, false},
		{"the tests, words and all", []string{"npm", "test", "--", "-x"}, map[string]string{"package.json": `{"scripts":{"test":"evil"}}`}, false},
		{"a script that runs others", []string{"npm", "run", "all"}, map[string]string{"package.json": `{"scripts":{"all":"npm run build","build":"evil"}}`}, false},
		{"a script with an escape", []string{"npm", "run", "lint"}, map[string]string{"package.json": `{"scripts":{"lint":"eslint \u0073rc","x":"evil"}}`}, false},
		{"a script by an option", []string{"npm", "run", "-s", "build"}, map[string]string{"package.json": `{"scripts":{"build":"vite build","x":"evil"}}`}, false},
		{"no install script", []string{"npm", "ci"}, map[string]string{"package.json": `{"scripts":{"test":"evil"}}`}, true},
		{"an install script", []string{"npm", "ci"}, map[string]string{"package.json": `{"scripts":{"prepare":"evil"}}`}, false},
		{"bun has other rules", []string{"bun", "test"}, map[string]string{"package.json": `{"scripts":{"build":"evil"}}`}, false},
		{"no module", pytest, map[string]string{"docs/x.md": "x"}, true},
		{"what a module is not", pytest, map[string]string{"app.py": "2\n"}, true},
		{"the module", pytest, map[string]string{"pytest.py": "evil"}, false},
		{"the module as a package", pytest, map[string]string{"pytest/__main__.py": "evil"}, false},
		{"a package of that name", pytest, map[string]string{"pytest/__init__.py": "evil"}, false},
		{"a module that it may import", pytest, map[string]string{"json.py": "evil"}, false},
		{"a package that it may import", pytest, map[string]string{"json/__init__.py": "evil"}, false},
		{"a compiled one", pytest, map[string]string{"json.pyc": "evil"}, false},
		{"a module of the project", []string{"python", "-m", "app"}, map[string]string{"app.py": "evil"}, false},
		{"the containers", up, map[string]string{"compose.yaml": "services:\n  x:\n    image: evil\n"}, false},
		{"more containers", up, map[string]string{"compose.override.yml": "services:\n"}, false},
		{"what an image is built of", up, map[string]string{"Dockerfile": "FROM evil\n"}, false},
		{"variables of the containers", up, map[string]string{".env": "A=b\n"}, false},
		{"no file of the containers", up, map[string]string{"app.py": "2\n"}, true},
	} {
		before, after := of(files(nil), &effects.Disturbance{}, tt.words...), of(files(tt.changed), &effects.Disturbance{}, tt.words...)
		if before == nil || after == nil || (before.SHA256 == after.SHA256) != tt.same {
			t.Errorf("%s: %+v, then %+v", tt.name, before, after)
		}
	}
	for name, words := range map[string][]string{
		"inline code": {"python3", "-c", "1"}, "a script": {"python3", "app.py"}, "an option before the module": {"python3", "-I", "-m", "pytest"},
		"no name of a module": {"python3", "-m", "../x"}, "another file": {"docker", "compose", "up", "-f", "x"}, "a command in a container": {"docker", "compose", "exec", "x", "sh"},
		"an option before the command": {"docker", "compose", "-f", "x", "up"}, "no compose": {"docker", "run", "x"},
	} {
		if got := of(files(nil), &effects.Disturbance{}, words...); got != nil {
			t.Errorf("%s: bound to %+v", name, got)
		}
	}
	for _, text := range []string{
		"services:\n  x:\n    build: ./api\n", "services:\n  x:\n    build: {dockerfile: D}\n", "\"\\x69nclude\": [o.yml]\n", "services:\n  x:\n    env_file: e\n",
		"services:\n  x:\n    build:\n      context: api\n", "configs:\n  x:\n    file: c\n",
	} {
		if got := of(files(map[string]string{"compose.yaml": text}), &effects.Disturbance{}, up...); got != nil {
			t.Errorf("bound to its text alone: %q", text)
		}
	}
	if got := of(files(map[string]string{"compose.yaml": "include:\n  - x.yaml\n"}), &effects.Disturbance{}, up...); got != nil {
		t.Errorf("a file that includes others: bound to %+v", got)
	}
	for name, words := range map[string][]string{"json.py": pytest, "pytest/__init__.py": pytest, "compose.yaml": up, ".env": up, "package.json": build} {
		if got := of(files(nil), &effects.Disturbance{Written: []string{root + "/" + name}}, words...); got != nil {
			t.Errorf("the call writes %s: bound to %+v", name, got)
		}
	}
	if s := of(files(nil), &effects.Disturbance{}, build...); s.Earlier == "" || s.Earlier == s.SHA256 {
		t.Errorf("what earlier versions bound to is lost: %+v", s)
	}
}
