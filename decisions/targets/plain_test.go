package targets

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
)

// plainRun is a run in a project with some files.
type plainRun struct {
	name    string
	files   map[string]string
	command string
	cwd     string // below the project
	why     string // "" if it is bound, else a part of why it is not
}

func (p *plainRun) of(after *effects.Disturbance, more map[string]string) *effects.Script {
	fs := fsfake.New(targetsRoot + "/.git/HEAD")
	files := maps.Clone(p.files)
	maps.Copy(files, more)
	for name, text := range files {
		fs.File(targetsRoot+"/"+name, text)
	}
	words := strings.Fields(p.command)
	r := &effects.Run{Program: words[0], Args: words[1:], Known: true, Cwd: targetsRoot}
	if words[len(words)-1] == "update" || len(words) > 1 && words[1] == "install-test" {
		r.Subcommand = words[1]
	}
	if p.cwd != "" {
		r.Cwd += "/" + p.cwd
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--filter") || w == "-F" }) {
		cwd := r.Cwd
		r = filtered(cwd, strings.Join(words[1:], " "))
	}
	return Of(fs, r, after, &effects.User{Home: path.Dir(targetsRoot)})
}

func checkPlain(t *testing.T, runs []plainRun) {
	t.Helper()
	for _, p := range runs {
		t.Run(p.name, func(t *testing.T) {
			switch s := p.of(&effects.Disturbance{}, nil); {
			case s == nil:
				t.Error("it is bound to nothing")
			case (s.Unbound == "") != (p.why == "") || !strings.Contains(s.Unbound, p.why) || (s.SHA256 == "") != (p.why != ""):
				t.Errorf("have %+v, want %q", s, p.why)
			}
		})
	}
}

// TestPlainMakefiles: what people write in ordinary makefiles is bound, and what lets make
// read more is not.
func TestPlainMakefiles(t *testing.T) {
	in := func(name, text, why string, more ...string) plainRun {
		files := map[string]string{"Makefile": text}
		for _, m := range more {
			files[m] = "x\n"
		}
		return plainRun{name: name, files: files, command: "make lint", why: why}
	}
	const lint = "lint:\n\tgo vet ./...\n"
	checkPlain(t, []plainRun{
		in("ordinary", "SHELL := /bin/bash\n.SHELLFLAGS := -eu -o pipefail -c\nMAKEFLAGS += --no-print-directory\n.DEFAULT_GOAL := help\nBIN ?= app # name\n"+
			"SRC := main.go cart.go\nOBJ = $(SRC:.go=.o)\n.PHONY: all lint help\n\nall: lint $(BIN)\n$(BIN): $(SRC)\n\tgo build -o $@ ./cmd/$(BIN) \\\n\t  -v\n\n"+
			"ifeq ($(OS),Windows_NT)\nEXE = .exe\nelse\nEXE =\nendif\nexport CGO_ENABLED = 0\nhelp: ## says what there is\n"+
			"\t@echo \"make lint - looks at it\"\n\t@grep -E '^[a-z]+:.*?##' $(MAKEFILE_LIST) | awk '{print $$1}'\nlint: fmt\n\t$(MAKE) fmt && golangci-lint run\nfmt:\n\tgofmt -l .\n%.o: %.c\n\t$(CC) -c $< -o $@\n"+
			"VERSION := $(shell git rev-parse --short HEAD)\n", "", "main.go", "cart.go"),
		in("a file of that name", "lint:\n\t./lint.sh\n", "", "lint.sh"), // with a recipe, nothing is made from it
		in("no such target", "test:\n\ttrue\n", "no target lint"),
		in("made from a script", lint, "from Makefile.sh", "Makefile.sh"),
		in("made from a version", lint, "from RCS", "RCS/Makefile,v"),
		in("made from another", lint, "from s.Makefile", "s.Makefile"),
		in("a target made from a file", "lint: dep\ndep:\n", "from dep.sh", "dep.sh"),
		in("no such file, made from one", lint+"-include x.mk\n", "from x.mk.c", "x.mk.c"),
		in("a target under a condition", "ifdef X\nlint:\n\ttrue\nendif\n", "from lint.sh", "lint.sh"),
		in("eval", lint+"$(eval include x)\n", "not understood"), in("eval in a variable", lint+"X := $(eval include x)\n", "function"), in("file", lint+"X := $(file < x)\n", "function"), in("shell", lint+"X = $(shell cat x)\n", "function"),
		in("in a recipe", "lint:\n\techo $(shell cat x)\n", "function"), in("call", lint+"X = $(call shell,cat x)\n", "function"), in("wildcard", lint+"X = $(wildcard *.c)\n", "function"),
		in("nested", lint+"X = $(if a,$(file < x))\n", "function"), in("braces", lint+"X = ${eval y}\n", "function"), in("runs a command", lint+"X != cat x\n", "not plain"),
		in("another makefile in a recipe", "lint:\n\t$(MAKE) -f x\n", "runs make"), in("another folder", "lint:\n\tcd sub && $(MAKE)\n", "runs make"),
		in("by a variable", "M = $(MAKE) -C sub\nlint:\n\t$(M)\n", "a variable runs make"), in("by name", "lint:\n\tmake -C sub\n", "runs make"),
		in("in the environment", "export MAKEFILES = x\n"+lint, "it sets MAKEFILES"), in("flags", "MAKEFLAGS += -f x\n"+lint, "it sets MAKEFLAGS"),
		in("elsewhere", "VPATH = x\n"+lint, "it sets VPATH"), in("by pattern", "vpath %.mk a:b\n"+lint, "not understood"), in("a shell of its own", "SHELL = ./x\n"+lint, "SHELL"),
		in("itself", lint+"Makefile: x\n\tcp x Makefile\n", "itself anew"), in("any file", lint+"%: %.sh\n\tcp $< $@\n", "the target %"), in("a suffix rule", lint+".evil:\n\tcp $< $@\n", "special target"),
		in("what is included", "include x.mk\n%.mk: %.y\n\tcp $< $@\n"+lint, "a pattern may make it"), in("default", lint+".DEFAULT:\n\tcp x $@\n", "special target"),
		in("a tab that is no recipe", "X = 1\n\tinclude x\n"+lint, "belongs to no rule"), in("a rule that may not be", "X = 1\nifdef Y\nz:\nendif\n\tinclude x\n"+lint, "belongs to no rule"),
		in("a condition that ends in a recipe", "ifdef Y\nz:\n\telse\n\tinclude x\nendif\n"+lint, "ends a condition"), in("with a comment", "ifdef Y\nz:\n\t else#x\n\tinclude x\nendif\n"+lint, "ends a condition"),
		in("one shell", "lint:\n\tcd sub\n\t$(MAKE) lint\n.ONESHELL:\n", "one shell"),
		in("define", lint+"define X\ninclude x\nendef\n", "not understood"), in("two colons", "lint:: ; true\n", "not understood"), in("a library", lint+"load x.so\n", "not understood"),
		in("prerequisites by pattern", "lint: *.mk\n\ttrue\n", "prerequisite"), in("a second expansion", ".SECONDEXPANSION:\n"+lint, "special target"), in("backslashes", "X = a\\\\\n"+lint, "backslashes"),
		{name: "no makefile", command: "make lint", files: map[string]string{}, why: notKnown},
		{name: "a variable of its words", command: "make lint V=1", files: map[string]string{"Makefile": lint}},
		{name: "a function in its words", command: "make lint V=$(file<x)", files: map[string]string{"Makefile": lint}, why: "a variable in its words"},
		{name: "make in its words", command: "make lint M=make", files: map[string]string{"Makefile": lint}, why: "a variable in its words"},
		{name: "where files are, in its words", command: "make lint VPATH=x", files: map[string]string{"Makefile": lint}, why: "a variable in its words"},
		{name: "the first target", command: "make", files: map[string]string{"Makefile": "all:\n\ttrue\n"}},
	})
	for _, written := range []string{"makefile.sh", "rcs/makefile,v", "gnumakefile", "s.makefile"} {
		p := in("", lint, "")
		if s := p.of(&effects.Disturbance{Written: []string{targetsRoot + "/" + written}}, nil); s.Unbound == "" {
			t.Errorf("the call writes %s, and it is bound to %+v", written, s)
		}
	}
}

// TestPlainRecipes: the same for just, rake, task and compose.
func TestPlainRecipes(t *testing.T) {
	var runs []plainRun
	add := func(file, command, why string, texts ...string) {
		for _, text := range texts {
			runs = append(runs, plainRun{name: command + " " + text, files: map[string]string{file: text}, command: command, why: why})
		}
	}
	add("justfile", "just lint", "",
		"# all\nset shell := [\"bash\", \"-uc\"]\nset positional-arguments\nexport A := 'x' + \"y\"\n\nalias l := lint\n\n[private]\nfmt:\n    gofmt -l .\n\n# looks\n[group('ci')]\nlint target='all' *args: fmt\n    @go vet {{target}} {{ args }}\n",
		"lint:\n  #!/usr/bin/env python3\n  import os\n", "@lint:\n\ttrue\n")
	add("justfile", "just lint", "not plain",
		"import 'x'\nlint:\n  true\n", "[private]\nmod x\nlint:\n  true\n", "[private] mod x\nlint:\n  true\n", "set fallback\nlint:\n  true\n", "set dotenv-load\nlint:\n  true\n",
		"set dotenv-path := 'x'\nlint:\n  true\n", "x := `cat y`\nlint:\n  true\n", "x := read('y')\nlint:\n  true\n", "lint:\n  {{ read('x') }}\n", "lint:\n  just -f x\n", "set shell := ['./x']\nlint:\n  true\n",
		"[script('./x')]\nlint:\n  true\n", "x := 'a' + \\\n  `cat y`\nlint:\n  true\n", "lint: (dep `cat x`)\n  true\n", "x := '''\nmod\n'''\nlint:\n  true\n", "set working-directory := 'x'\nlint:\n  true\n", "!include x\nlint:\n  true\n")
	add("justfile", "just lint", "no recipe lint", "test:\n  true\n", "x := 'a'\n")
	runs = append(runs,
		plainRun{name: "a second justfile", files: map[string]string{"justfile": "lint:\n  true\n", ".justfile": ""}, command: "just lint", why: "in place of the justfile"},
		plainRun{name: "one in capitals", files: map[string]string{"justfile": "lint:\n  true\n", "JUSTFILE": ""}, command: "just lint", why: "in place of the justfile"},
		plainRun{name: "a nearer one in capitals", files: map[string]string{"justfile": "lint:\n  true\n", "sub/JUSTFILE": ""}, command: "just lint", cwd: "sub", why: "in place of the justfile"},
	)
	add("Rakefile", "rake lint", "", "require 'bundler'\n\nnamespace :ci do\n  desc \"Looks\"\n  task :a => [:b, 'c'] do\n    sh 'rubocop'\n  end\nend\ntask lint: %w[ci:a]\ntask default: :lint\n")
	add("Rakefile", "rake lint", "not plain", "require './o'\ntask :lint\n", "$:<< '.'\ntask :lint\n", "Rake.load_rakefile 'x'\n", "Rake.application.add_import('x')\n", "instance_eval(IO.binread('x'))\n",
		"task :lint do\n  sh \"#{File.read('x')}\"\nend\n", "import 'x'\n", "require 'bundler/setup'\n", "task :lint do\n  ruby 'x'\nend\n", "__END__\n", "=begin\ntask :lint\n")
	add("Taskfile.yml", "task lint", "", "version: '3'\ntasks:\n  lint: go vet ./...\n  test:\n    desc: Tests\n    deps: [lint]\n    cmds:\n      - go test ./... {{.CLI_ARGS}}\n      - task: lint\n")
	add("Taskfile.yml", "task lint", "not plain", "version: '3'\nincludes:\n  a: ./a\n", "version: '3'\n\"\\x69ncludes\":\n  a: ./a\n", "version: '3'\ndotenv: [.e]\ntasks:\n  lint: true\n", "version: '3'\nvars:\n  X: {sh: cat x}\ntasks:\n  lint: true\n",
		"version: '3'\ntasks:\n  lint:\n    dir: sub\n    cmds: [true]\n", "version: '3'\ntasks:\n  lint: task -t x\n", "a: &x {includes: b}\n<<: *x\n")
	runs = append(runs, plainRun{name: "settings of task", files: map[string]string{"Taskfile.yml": "version: '3'\ntasks:\n  lint: true\n", ".taskrc.yml": ""}, command: "task lint", why: "settings of task"})
	const web = "services:\n  web:\n    image: web\n"
	add("compose.yaml", "docker compose up", "", web, "name: x\nservices:\n  web:\n    build: .\n    ports: [\"${PORT:-80}:80\"]\n    environment: {A: b}\n    volumes:\n      - ./data:/data\n    depends_on: [db]\n  db:\n    image: postgres\n    restart: always\nvolumes:\n  x: {}\n")
	add("compose.yaml", "docker compose up", "not plain", "include: [x.yaml]\n"+web, web+"    env_file: x\n", web+"    extends: {file: x, service: y}\n", "services:\n  web:\n    build: ./api\n", "services:\n  web:\n    build: {context: ., dockerfile: D}\n",
		"\"\\x69nclude\": [o.yml]\n", web+"secrets:\n  x:\n    file: y\n", web+"    provider: {type: x}\n", web+"    label_file: x\n", web+"    credential_spec: {file: x}\n", "services:\n  web: &a\n    image: x\n  b: *a\n")
	with := func(name, file, text, command, why string) {
		runs = append(runs, plainRun{name: name, files: map[string]string{"compose.yaml": web, file: text}, command: command, why: why})
	}
	with("variables", ".env", "PORT=80\n", "docker compose up", "")
	with("another file by a variable", ".env", "COMPOSE_FILE=x.yml\n", "docker compose up", ".env may name")
	with("an override that extends", "compose.override.yml", "services:\n  web:\n    extends: {file: x}\n", "docker compose up", "compose.override.yml is not plain")
	with("what podman builds", "Containerfile", "FROM x\n", "podman compose up", "")
	with("what podman takes", "container-compose.yml", "include: [x]\n", "podman compose up", "container-compose.yml is not plain")
	const tasks = "[tools]\nnode = \"22\"\n[env]\nA = \"b\"\n[tasks.lint]\nrun = \"golangci-lint run\"\ndepends = [\"fmt\"]\n[tasks]\nfmt = \"gofmt -l .\"\n"
	add("mise.toml", "mise run lint", "", tasks)
	add("mise.toml", "mise run lint", "not plain", "[tasks.lint]\nfile = \"x\"\n", "[env]\n_.file = \"x\"\n", "[task_config]\nincludes = [\"x\"]\n", "[tasks.lint]\nrun = \"{{ read_file(path='x') }}\"\n",
		"[tasks.lint]\nrun = \"mise -C sub run x\"\n", "[tasks.lint]\ndir = \"sub\"\n", "[hooks]\nenter = \"x\"\n", "[vars]\n_.file = \"x\"\n")
	for _, command := range []string{"mise lint", "mise tasks run lint", "mise watch lint", "mise -C sub run lint", "mise run -C sub lint", "mise run"} {
		add("mise.toml", command, "not certain", tasks)
	}
	for _, more := range []string{"mise-tasks/lint", ".mise.local.toml", "mise.dev.toml", ".mise/tasks/lint", "mise/config.toml", ".config/mise/conf.d/x.toml", ".config/mise.toml", "sub/mise.toml"} {
		p := plainRun{name: "with " + more, files: map[string]string{"mise.toml": tasks, more: "", "sub/x": ""}, command: "mise run lint", why: "of mise"}
		if more == "sub/mise.toml" {
			p.cwd = "sub"
			p.why = "of mise"
		}
		runs = append(runs, p)
	}
	checkPlain(t, runs)
	task := plainRun{files: map[string]string{"mise.toml": tasks}, command: "mise run lint"}
	if a, b := task.of(&effects.Disturbance{}, nil), task.of(&effects.Disturbance{}, map[string]string{".tool-versions": "go path:./x\n"}); a.SHA256 == b.SHA256 {
		t.Error("programs that a task of mise finds are not part of what it runs")
	}
	podman := plainRun{files: map[string]string{"compose.yaml": web}, command: "podman compose up"}
	if a, b := podman.of(&effects.Disturbance{}, nil), podman.of(&effects.Disturbance{}, map[string]string{"container-compose.yml": web}); a.SHA256 == b.SHA256 {
		t.Error("podman takes one more file, and is bound to the same text")
	}
	if a, b := podman.of(&effects.Disturbance{}, nil), podman.of(&effects.Disturbance{}, map[string]string{"Containerfile": "FROM x\n"}); a.SHA256 == b.SHA256 {
		t.Error("podman builds from another file, and is bound to the same text")
	}
}
