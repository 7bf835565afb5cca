package pattern_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/rego"
)

var here = pattern.Context{Project: "/h/p", Home: "/h", Cwd: "/h/p"}

func touching(t *testing.T, table *programs.Table, line, text string) bool {
	t.Helper()
	p, err := pattern.Parse(effects.KindRun, line)
	if err != nil {
		t.Fatal(err)
	}
	p = p.Resolved(table)
	return slices.ContainsFunc(runsOf(t, table, text), func(e effects.Effect) bool { return p.Touches(&e, here) })
}

// TestTouchesMoreOptions: adding an option, or spelling the run differently, does
// not evade a deny without a final *.
func TestTouchesMoreOptions(t *testing.T) {
	table := shippedTable(t)
	for _, tt := range []struct {
		line    string
		yes, no []string
	}{
		{"make ship",
			[]string{"make ship", "make -s ship", "make ship -s", "make -C . ship", "make -j 4 ship", "make --silent ship", "/usr/bin/make -s ship"},
			[]string{"make", "make -s", "make test", "make ship test", "make -s ship test", "make -C ship"}},
		{"make", []string{"make", "make -s", "make -j4"}, []string{"make ship", "make -s ship", "make -j 4 ship"}},
		{"git push origin main",
			[]string{"git push -f origin main", "git push origin main --force", "git -C src push -u origin main", "git push --push-option x origin main", "git -c a.b=c push origin main"},
			[]string{"git push origin", "git push -f origin next", "git push origin main next", "git fetch origin main"}},
		{"git stash", []string{"git stash", "git stash -u"}, []string{"git stash pop", "git stash list"}},
		{"ls", []string{"ls -la"}, []string{"ls a", "ls -l a"}},
		{"npm test", []string{"npm test", "npm t", "npm run test", "npm run-script test", "npm run test --silent", "npm test -- --watch", "npm --silent test"}, []string{"npm run build", "npm install", "npm start"}},
		{"npm run test", []string{"npm test", "npm tst", "npm -s run test"}, []string{"npm run tests", "npm run build"}},
		{"npm run *", []string{"npm run build", "npm test", "npm start", "npm stop"}, []string{"npm install", "npm ls"}},
		{"npm test *", []string{"npm run test", "npm run test x"}, []string{"npm run build"}},
		{"npm run t*", []string{"npm test", "npm run tell"}, []string{"npm start"}},
		{"npm i", []string{"npm install", "npm add", "npm i -D"}, []string{"npm i x", "npm ci"}},
		{"npm install left-pad", []string{"npm i left-pad", "npm add -D left-pad", "npm in --save-dev left-pad"}, []string{"npm i", "npm uninstall left-pad"}},
		{"yarn run ship", []string{"yarn ship", "yarn -s ship", "yarn run -T ship"}, []string{"yarn", "yarn install", "yarn run other"}},
		{"yarn ship", []string{"yarn run ship", "yarn run ship --now"}, []string{"yarn run", "yarn add ship"}},
		{"docker run --rm alpine", []string{"docker container run --rm alpine", "docker run --rm -d alpine", "docker container run -d --rm alpine"}, []string{"docker run alpine", "podman run --rm alpine"}},
		{"docker container rm x", []string{"docker rm x", "docker rm -f x", "docker container rm --force x"}, []string{"docker rm y", "docker image rm x"}},
		{"podman pull x", []string{"podman image pull x", "podman image pull -q x"}, []string{"podman image push x"}},
		{"docker image rm x", []string{"docker rmi x", "docker rmi -f x", "docker image remove x"}, []string{"docker rm x"}},
		{"docker container *", []string{"docker container prune", "docker run x", "docker exec x ls"}, []string{"docker pull x", "docker images"}},
		{"git stage a", []string{"git add a", "git add -f a"}, []string{"git add b"}},
		{"mytool up", []string{"mytool -v up", "mytool up -v", "mytool --env prod up", "mytool up --env prod", "mytool --env=prod -- up"}, []string{"mytool", "mytool down", "mytool up down", "mytool down -v up"}},
		{"mytool up --env prod", []string{"mytool --env prod up", "mytool up --env=prod", "mytool -v up --env prod", "mytool -v --env=prod up"}, []string{"mytool up", "mytool up --env dev", "mytool --env prod"}},
		{"mytool -rf a", []string{"mytool -r -f a", "mytool -fr a", "mytool -vrf a", "mytool a -r -f"}, []string{"mytool -r a", "mytool a", "mytool -rf b"}},
		{"./tool.sh x", []string{"./tool.sh --now x", "./tool.sh x -v"}, []string{"./tool.sh y", "./tool.sh", "./other.sh x"}},
		{"python3 a.py x", []string{"python3 -u a.py x", "python3 a.py --now x", "python3 a.py x -v"}, []string{"python3 a.py", "python3 b.py x", "python3 a.py y"}},
		// Words that need to be read: a number, a negated option, a repeated one,
		// values after a bundle.
		{"pkill -9 node", []string{"pkill -9 node", "pkill -f -9 node", "pkill node -9"}, []string{"pkill node", "pkill -9 vim"}},
		{"go test -race=false ./...", []string{"go test -race=false ./...", "go test -v -race=false ./..."}, []string{"go test ./...", "go vet ./..."}},
		{"gofmt -l=true .", []string{"gofmt -l .", "gofmt -l=true .", "gofmt --l -s ."}, []string{"gofmt -s .", "gofmt -l x.go"}},
		{"tree -La 2 src", []string{"tree -La 2 src", "tree -a -L 2 src", "tree src -L 2 -a"}, []string{"tree -a src", "tree -La 2 docs"}},
		{"find . -delete", []string{"find . -name x -delete", "find . -delete -print"}, []string{"find . -name x", "find a -delete", "find . -type f -ls"}},
	} {
		t.Run(tt.line, func(t *testing.T) {
			for _, text := range tt.yes {
				if !touching(t, table, tt.line, text) {
					t.Errorf("does not touch %s", text)
				}
			}
			for _, text := range tt.no {
				if touching(t, table, tt.line, text) {
					t.Errorf("touches %s", text)
				}
			}
		})
	}
}

// TestMoreOptionsAllowNothing: an allow does not match what a deny of the same line
// would match in addition.
func TestMoreOptionsAllowNothing(t *testing.T) {
	table := shippedTable(t)
	for line, texts := range map[string][]string{
		"make ship":            {"make -s ship", "make ship -s"},
		"git push origin main": {"git push -f origin main"},
		"npm test":             {"npm run test", "npm test -- --watch"},
		"npm run test":         {"npm test", "npm t"},
		"docker run alpine":    {"docker container run alpine", "docker run --privileged alpine"},
		"mytool up":            {"mytool -v up", "mytool --env=prod up"},
		"yarn ship":            {"yarn run ship"},
	} {
		p, err := pattern.Parse(effects.KindRun, line)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range append(texts, line) {
			all := runsOf(t, table, text)
			if got := p.Resolved(table).Match(&all[0], all, here); got != (text == line) {
				t.Errorf("allow %s matches %s: %v", line, text, got)
			}
		}
	}
}

// TestLoopbackIsOne: a deny of this machine denies all its names, an allow only the
// written one.
func TestLoopbackIsOne(t *testing.T) {
	names := []string{"localhost", "127.0.0.1", "::1", "0.0.0.0", "127.0.0.2"}
	for _, line := range []string{"localhost", "127.0.0.1", "[::1]:80", "localhost:80"} {
		p, err := pattern.Parse(effects.KindConnect, line)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			e := effects.Effect{Kind: effects.KindConnect, Tags: effects.TagsOf(effects.Loopback), Connect: &effects.Connect{Host: name, Port: 80, Scheme: "http"}}
			if !p.Touches(&e, here) {
				t.Errorf("%s does not touch %s", line, name)
			}
			if p.Match(&e, nil, here) != (name == p.Host.Name) {
				t.Errorf("%s allows %s", line, name)
			}
			e.Connect.Port = 81
			if p.Touches(&e, here) != (p.Host.Port == 0) {
				t.Errorf("%s and port 81 of %s", line, name)
			}
		}
		other := effects.Effect{Kind: effects.KindConnect, Connect: &effects.Connect{Host: "a.example", Port: 80}}
		if p.Touches(&other, here) {
			t.Errorf("%s touches a.example", line)
		}
	}
}

// tableEntry is the part of the program table that this test reads.
type tableEntry struct {
	Names   []string            `yaml:"names"`
	Style   string              `yaml:"style"`
	Text    bool                `yaml:"text"`
	Include []string            `yaml:"include"`
	Options map[string][]string `yaml:"options"`
	Sub     []tableEntry        `yaml:"sub"`
	Wrapper *struct {
		Transparent bool `yaml:"transparent"`
	} `yaml:"wrapper"`
}

// command is a program with its sub-commands and options.
type command struct {
	words []string
	outer []string // options before the last sub-command
	inner []string
}

// tableCommands returns the commands of the shipped table.
func tableCommands(t *testing.T) []command {
	t.Helper()
	var files []struct {
		Groups   map[string]map[string][]string `yaml:"groups"`
		Programs []tableEntry                   `yaml:"programs"`
	}
	groups := map[string]map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(rego.Programs())) {
		var f struct {
			Groups   map[string]map[string][]string `yaml:"groups"`
			Programs []tableEntry                   `yaml:"programs"`
		}
		if err := yaml.Unmarshal(rego.Programs()[name], &f); err != nil {
			t.Fatal(err)
		}
		maps.Copy(groups, f.Groups)
		files = append(files, f)
	}
	var found []command
	var walk func(e *tableEntry, before, outer []string)
	walk = func(e *tableEntry, before, outer []string) {
		if e.Style != "" && e.Style != "gnu" && e.Style != "words" || e.Text || e.Wrapper != nil && e.Wrapper.Transparent {
			return
		}
		var inner []string
		own := map[string]bool{} // a program's own options override those of its groups
		for kind, list := range e.Options {
			for _, line := range list {
				for name := range strings.FieldsSeq(line) {
					own[spelling(name)] = true
				}
			}
			if kind == "inline" {
				continue // with it the program runs code
			}
			inner = append(inner, list...)
		}
		for _, g := range e.Include {
			for _, list := range groups[g] {
				for _, line := range list {
					names := slices.DeleteFunc(strings.Fields(line), func(name string) bool { return own[spelling(name)] })
					if len(names) > 0 {
						inner = append(inner, strings.Join(names, " "))
					}
				}
			}
		}
		slices.Sort(inner)
		for _, name := range e.Names {
			if strings.Contains(name, "*") {
				continue
			}
			words := append(slices.Clone(before), name)
			if len(e.Sub) == 0 {
				found = append(found, command{words, outer, inner})
			}
			for i := range e.Sub {
				walk(&e.Sub[i], words, inner)
			}
		}
	}
	for _, f := range files {
		for i := range f.Programs {
			walk(&f.Programs[i], nil, nil)
		}
	}
	return found
}

// spelling returns an option without the suffix that says how it takes a value.
func spelling(name string) string { return strings.TrimRight(strings.TrimSuffix(name, "[=]"), "=") }

// TestMoreOptionsStillTouch attacks denies: whatever options are added to a run of
// a program of the table, or of an unknown one, a deny of the run matches it.
func TestMoreOptionsStillTouch(t *testing.T) {
	table := shippedTable(t)
	commands := tableCommands(t)
	for range 60 {
		commands = append(commands, command{words: []string{"mytool"}}, command{words: []string{"mytool", "up"}}, command{words: []string{"./tool.sh"}})
	}
	rapid.Check(t, func(rt *rapid.T) {
		c := rapid.SampledFrom(commands).Draw(rt, "command")
		operands := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "one/two", "ship"}), 0, 2).Draw(rt, "operands")
		option := func(list []string) []string {
			strange := []string{"--zed", "--zed=1"}
			if c.words[0] == "mytool" || c.words[0] == "./tool.sh" {
				strange = append(strange, "-Z", "-Zx")
			}
			if len(list) == 0 || rapid.IntRange(0, 9).Draw(rt, "strange") == 0 {
				return []string{rapid.SampledFrom(strange).Draw(rt, "option")}
			}
			line := strings.Fields(rapid.SampledFrom(list).Draw(rt, "options"))
			name := rapid.SampledFrom(line).Draw(rt, "name")
			switch {
			case !strings.HasPrefix(name, "-"):
				return []string{"--zed"}
			case strings.HasSuffix(name, "=="):
				return []string{strings.TrimSuffix(name, "=="), "v", "w"}
			case strings.HasSuffix(name, "[=]"):
				return []string{strings.TrimSuffix(name, "[=]")}
			case strings.HasSuffix(name, "="):
				return []string{strings.TrimSuffix(name, "="), "v"}
			}
			return []string{name}
		}
		line := append(slices.Clone(c.words), operands...)
		more := slices.Clone(c.words)
		if len(c.words) > 1 && rapid.IntRange(0, 3).Draw(rt, "outer") == 0 {
			more = slices.Insert(more, len(more)-1, option(c.outer)...)
		}
		for _, o := range append([]string{""}, operands...) {
			if o != "" {
				more = append(more, o)
			}
			for range rapid.IntRange(0, 2).Draw(rt, "inner") {
				more = append(more, option(c.inner)...)
			}
		}
		text := strings.Join(more, " ")
		if !touching(t, table, strings.Join(line, " "), text) {
			rt.Fatalf("%s does not touch %s", strings.Join(line, " "), text)
		}
	})
}
