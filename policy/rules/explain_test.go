package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// saying prints near rules for comparison: the place, the condition that does not
// hold, and the value instead.
func saying(near []Near) []string {
	var out []string
	for _, n := range near {
		var failed []string
		for _, c := range n.Failed {
			text := c.Text
			if c.Untried {
				text = "untried: " + text
			}
			if c.Is != "" {
				text += " | " + c.Is
			}
			failed = append(failed, text)
		}
		out = append(out, fmt.Sprintf("%s held %d: %s", n.Rule.At, n.Held, strings.Join(failed, "; ")))
	}
	return out
}

func nearestOf(t *testing.T, l *Layer, set decisions.Set, list ...effects.Effect) []string {
	t.Helper()
	snap := snapshotOf(l)
	in := inputOf(list...)
	found, err := snap.Evaluate(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	in.Scratch = nil
	near, more := snap.Nearest(t.Context(), in, set, found.Fired)
	if more {
		t.Error("it stopped before the end")
	}
	return saying(near)
}

func TestNearestRego(t *testing.T) {
	readonly := run("npm", "test")
	readonly.Run.Readonly = true
	outside := run("npm", "test")
	outside.Tags = effects.TagsOf(effects.Outside)
	secret := run("npm", "ghp_0123456789abcdefghijklmnopqrstuvwxyz")
	tests := []struct {
		name   string
		rules  string
		effect effects.Effect
		want   []string
	}{
		{
			"one condition", "allow contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"npm\"\n\tinput.effect.readonly == true\n}",
			run("npm", "test"),
			[]string{"/p/a.rego:3 held 1: input.effect.readonly == true | input.effect.readonly is false"},
		},
		{
			"it fires", "allow contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"npm\"\n\tinput.effect.readonly == true\n}",
			readonly, nil,
		},
		{
			"of another kind", "allow contains \"x\" if {\n\tinput.effect.kind == \"read\"\n\tinput.effect.claimed == false\n\tinput.effect.recursive == true\n}",
			run("npm", "test"), nil,
		},
		{
			"of another program", "allow contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"yarn\"\n\tinput.effect.subcommand == \"build\"\n}",
			run("npm", "test"), nil,
		},
		{
			"what builds on it is not tried",
			"allow contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"npm\"\n\tsome flag in input.effect.flags\n\tstartswith(flag, \"--only\")\n}",
			run("npm", "test"),
			[]string{`/p/a.rego:3 held 1: some flag in input.effect.flags | input.effect.flags is []; untried: startswith(flag, "--only")`},
		},
		{
			"a variable that is bound",
			"allow contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"npm\"\n\ttags := input.effect.tags\n\tnot \"outside\" in tags\n}",
			outside,
			[]string{`/p/a.rego:3 held 1: not "outside" in tags | input.effect.tags is ["outside"]`},
		},
		{
			"a variable of a loop",
			"allow contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"npm\"\n\tsome w in input.effect.args\n\tstartswith(w, \"z\")\n}",
			run("npm", "test"),
			[]string{`/p/a.rego:3 held 1: startswith(w, "z") | w is "test"`},
		},
		{
			"a helper",
			"ours if input.project.root == \"/srv/p\"\nallow contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"npm\"\n\tours\n}",
			run("npm", "test"),
			[]string{"/p/a.rego:4 held 1: ours | see /p/a.rego:3"},
		},
		{
			"a helper that names another program",
			"yarn if input.effect.program == \"yarn\"\nours if yarn\nallow contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.claimed == false\n\tours\n\tinput.effect.readonly == true\n}",
			run("npm", "test"), nil,
		},
		{
			"the nearest first",
			"allow contains \"a\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"npm\"\n\tinput.effect.readonly == true\n\tinput.effect.stdin == \"text\"\n}\n\n" +
				"allow contains \"b\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"npm\"\n\tinput.effect.readonly == true\n}",
			run("npm", "test"),
			[]string{
				"/p/a.rego:10 held 1: input.effect.readonly == true | input.effect.readonly is false",
				"/p/a.rego:3 held 1: input.effect.readonly == true | input.effect.readonly is false; input.effect.stdin == \"text\" | input.effect.stdin is \"none\"",
			},
		},
		{
			"secrets are masked",
			"allow contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"npm\"\n\tinput.effect.args[0] == \"test\"\n}",
			secret,
			[]string{`/p/a.rego:3 held 1: input.effect.args[0] == "test" | input.effect.args[0] is "ghp_…"`},
		},
		{
			"a field that is not there",
			"allow contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"npm\"\n\tinput.effect.script.path == \"/x\"\n}",
			run("npm", "test"),
			[]string{`/p/a.rego:3 held 1: input.effect.script.path == "/x" | input.effect.script.path is not there`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := nearestOf(t, mustCompile(t, decisions.User, tt.rules), decisions.SetAllow, tt.effect)
			if tt.name == "secrets are masked" {
				if s := strings.Join(got, ""); !strings.Contains(s, "held 1") || strings.Contains(s, "0123456789abcdef") {
					t.Errorf("got %s", s)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A value that the explanation no longer has is no failing condition.
func TestNearestRaw(t *testing.T) {
	l := mustCompile(t, decisions.User, "allow contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"npm\"\n\tinput.call.raw.command == \"y\"\n}")
	in := inputOf(run("npm"))
	near, _ := snapshotOf(l).Nearest(t.Context(), in, decisions.SetAllow, nil)
	if diff := cmp.Diff([]string{`/p/a.rego:3 held 1: input.call.raw.command == "y"`}, saying(near)); diff != "" {
		t.Errorf("with it (-want +got):\n%s", diff)
	}
	in.Call.Input, in.Scratch = nil, nil
	near, _ = snapshotOf(l).Nearest(t.Context(), in, decisions.SetAllow, nil)
	want := []string{`/p/a.rego:3 held 1: untried: input.call.raw.command == "y" | the call's raw input is no longer known`}
	if diff := cmp.Diff(want, saying(near)); diff != "" {
		t.Errorf("without it (-want +got):\n%s", diff)
	}
}

// TestNearestBound: with too many conditions to try, the search stops and says so.
func TestNearestBound(t *testing.T) {
	var rules strings.Builder
	const limit = 20
	for i := range limit {
		fmt.Fprintf(&rules, "allow contains \"r%d\" if {\n\tinput.effect.kind == \"run\"\n\tcount(input.effect.args) > %d\n\tcount(input.effect.flags) > 7\n}\n", i, i)
	}
	l := mustCompile(t, decisions.User, rules.String())
	snap, in := snapshotOf(l), inputOf(run("x", "y"))
	if _, more := snap.nearestWithin(t.Context(), in, decisions.SetAllow, nil, 8*limit); more {
		t.Error("there is more, although all were tried")
	}
	near, more := snap.nearestWithin(t.Context(), in, decisions.SetAllow, nil, limit)
	if !more || len(near) == 0 {
		t.Errorf("%d near rules, more is %v", len(near), more)
	}
}

func TestNearestEntries(t *testing.T) {
	pipe := run("mystery", "a")
	pipe.Run.Known, pipe.Run.Stdin, pipe.Run.HarmlessFrom = false, effects.StdinPipe, 0
	outside := run("go", "test")
	outside.Tags, outside.Run.Cwd = effects.TagsOf(effects.Outside), "/tmp"
	exec := run("go", "test", "-exec", "./x", "./...")
	exec.Run.HarmlessFrom = 3
	options := func(harmful []int, from int, args ...string) effects.Effect {
		e := run("tool", args...)
		e.Run.Known, e.Run.Harmful, e.Run.OptionsFrom, e.Run.HarmlessFrom = false, harmful, from, harmful[len(harmful)-1]+1
		return e
	}
	given := run("npm", "test")
	given.Run.Program, given.Run.Executable = "/home/u/p/npm", "./npm"
	dynamic := run("make", effects.DynamicWord)
	deep := file(effects.KindWrite, "/home/u/p/docs", effects.InProject)
	deep.File.Recursive = true
	link := file(effects.KindWrite, "/home/u/p/src/x.md", effects.InProject)
	link.File.AsWritten = "docs/x.md"
	port := connect("docs.example.com")
	port.Connect.Port = 8443
	tests := []struct {
		name   string
		lines  string
		effect effects.Effect
		want   []string
	}{
		{"another word", "run: [\"npm run lint\"]", run("npm", "run", "test"), []string{"word 2 is test, the line says lint"}},
		{"the least differs", "run: [\"npm publish\", \"npm run lint\"]", run("npm", "run", "test"), []string{"word 2 is test, the line says lint", "word 1 is run, the line says publish"}},
		{"a word more", "run: [\"make lint\"]", run("make", "lint", "deploy"), []string{"the line ends here, and the command goes on with deploy"}},
		{"a word less", "run: [\"npm run lint\"]", run("npm", "run"), []string{"the line has a further word: lint"}},
		{"not harmless", "run: [\"go test *\"]", exec, []string{"./x is not known to be harmless, and a last * stands for nothing else"}},
		{"a named option is missing", "run: [\"tool do * --json\"]", options([]int{0}, 1, "do", "x"), []string{"the line names --json, which the command does not have, or which needs no name"}},
		{"an option too many", "run: [\"tool do * --json\"]", options([]int{0, 1, 2}, 1, "do", "--json", "--all"), []string{"--all is not known to be harmless, and the line does not name it"}},
		{"another option", "run: [\"tool do * --json\"]", options([]int{0, 1}, 1, "do", "--all"), []string{"where the line names --json the command has --all"}},
		{"another value", "run: [\"tool do * --env a\"]", options([]int{0, 1, 2}, 1, "do", "--env", "b"), []string{"where the line names a the command has b"}},
		{"what may be a value", "run: [\"tool do * --json\"]", options([]int{0, 1, 2}, 1, "do", "--json", "x"), []string{"x may be the value of --json, and the line gives it none"}},
		{"a word that is no option", "run: [\"tool do * --json\"]", options([]int{0, 1, 2}, 2, "do", "../x", "--json"), []string{"../x is not known to be harmless, and after its * a line names only options"}},
		{"piped", "run: [\"mystery *\"]", pipe, []string{"its standard input is the output of another program, of which the line says nothing"}},
		{"outside", "run: [\"go test *\"]", outside, []string{"it runs outside of the project"}},
		{"by its path", "run: [\"npm test\"]", given, []string{"the program is /home/u/p/npm, the line says npm"}},
		{"an option for a star", "run: [\"npm run test:*\"]", run("npm", "run", "build"), []string{"word 2 is build, the line says test:*"}},
		{"a way out for a star", "run: [\"cat docs/*\"]", run("cat", "docs/.."), []string{"word 1 is a path with .., and the * in docs/* does not stand for that"}},
		{"not known before", "run: [\"make lint\"]", dynamic, []string{"word 1 is only known when the command runs, the line says lint"}},
		{"another program", "run: [\"go test *\"]", run("npm", "test"), nil},
		{"another path", "write: [\"./docs/**\", \"./src/a.go\"]", file(effects.KindWrite, "/home/u/p/src/b.go", effects.InProject), []string{"the path is /home/u/p/src/b.go", "the path is /home/u/p/src/b.go"}},
		{"all below", "write: [\"./docs\"]", deep, []string{"all that is below is meant too, and the line does not end with **"}},
		{"a link", "write: [\"./docs/**\"]", link, []string{"a link leads from /home/u/p/docs/x.md to /home/u/p/src/x.md"}},
		{"elsewhere", "write: [\"/srv/**\"]", file(effects.KindWrite, "/home/u/p/a"), nil},
		{"another port", "connect: [\"docs.example.com:443\"]", port, []string{"the port is 8443, the line says 443"}},
		{"itself", "connect: [\"*.example.com\"]", connect("example.com"), []string{"*.example.com means the hosts below it, not itself"}},
		{"a sibling", "connect: [\"docs.example.com\"]", connect("api.example.com"), []string{"the host is api.example.com"}},
		{"another host", "connect: [\"docs.example.com\"]", connect("example.org"), nil},
		{"another tool", "use: [\"github:get_*\"]", use("github", "create_issue", "{}"), []string{"the tool is create_issue"}},
		{"another server", "use: [\"github:get_issue\"]", use("gitlab", "get_issue", "{}"), []string{"the server is gitlab"}},
		{"nothing in common", "use: [\"github:*\"]", use("gitlab", "get_issue", "{}"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := unitOf(decisions.User, map[string]string{"rules.yaml": "allow:\n  " + tt.lines + "\n"})
			l, ps := Compile(u, testSchema(t))
			if ps.Failed() {
				t.Fatal(ps)
			}
			got := nearestOf(t, l, decisions.SetAllow, tt.effect)
			var texts []string
			for _, s := range got {
				_, text, _ := strings.Cut(s, ": ")
				texts = append(texts, text)
			}
			if diff := cmp.Diff(tt.want, texts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDifferingAgrees: an effect does not differ from a line if and only if the
// line matches it, for allows and denies.
func TestDifferingAgrees(t *testing.T) {
	lines := map[effects.Kind][]string{
		effects.KindRun:     {"go test *", "go test", "go *", "npm run test:*", "make", "make lint", "/usr/bin/go test *", "./build.sh *"},
		effects.KindWrite:   {"./docs/**", "./docs", "./*.md", "/home/u/p/docs/a.md", "/srv/**", "~/p/**"},
		effects.KindConnect: {"docs.example.com", "*.example.com", "example.com:443", "*.example.com:8443"},
		effects.KindUse:     {"github:get_*", "*:get_issue", "search", "github:*"},
	}
	var all []effects.Effect
	for _, args := range [][]string{{}, {"test"}, {"test", "./..."}, {"lint"}, {"run", "test:unit"}, {"run", "test:-x"}, {"test", "-exec", "x"}, {effects.DynamicWord}} {
		for _, program := range []string{"go", "npm", "make", "/home/u/p/build.sh", "/home/u/p/go"} {
			for _, harmless := range []int{0, 1, len(args)} {
				e := run(program, args...)
				e.Run.HarmlessFrom = min(harmless, len(args))
				all = append(all, e)
				e.Run = new(*e.Run)
				e.Run.Stdin, e.Run.Known = effects.StdinNetwork, false
				all = append(all, e)
				e.Tags = effects.TagsOf(effects.Outside)
				all = append(all, e)
			}
		}
	}
	for _, p := range []string{"/home/u/p/docs", "/home/u/p/docs/a.md", "/home/u/p/a.md", "/srv/x", "/srv", "/home/u/p"} {
		for _, given := range []string{p, "docs/a.md"} {
			e := file(effects.KindWrite, p, effects.InProject)
			e.File.AsWritten = given
			all = append(all, e)
			e.File = new(*e.File)
			e.File.Recursive = true
			all = append(all, e)
		}
	}
	all = append(all, connect("docs.example.com"), connect("example.com"), connect("example.org"), connect(""),
		use("github", "get_issue", "{}"), use("", "search", "{}"), use("jira", "get_issue", "{}"))
	near := 0
	for i := range all {
		for _, allow := range []bool{true, false} {
			for _, line := range lines[all[i].Kind] {
				p, err := pattern.Parse(all[i].Kind, line)
				if err != nil {
					t.Fatal(err)
				}
				d := comparison{allow: allow, effect: &all[i], ctx: pattern.Context{Project: "/home/u/p", Home: "/home/u", Cwd: "/home/u/p"}}
				about := d.compare(p)
				match := p.Match(&all[i], nil, d.ctx)
				if !allow {
					match = p.Touches(&all[i], d.ctx)
				}
				if match != (about && len(d.found) == 0) {
					t.Errorf("%s against %s (allow %v): matches %v, about %v, differs in %v", all[i].Text, p, allow, match, about, d.found)
				}
				if about && !match {
					near++
				}
			}
		}
	}
	if near < 50 {
		t.Errorf("only %d were near", near)
	}
}

// A list keeps its entries' places.
func TestListed(t *testing.T) {
	u := unitOf(decisions.Project, map[string]string{"rules.yaml": "allow:\n  run: [\"a b\"]\ndeny:\n  run:\n    - c d\n", "bad.yaml": "x"})
	u.ListsOnly = true
	got := listEntries(u)
	if len(got) != 1 || got[0].ref.At != "/p/rules.yaml:5" || got[0].ref.ID != "project/rules.yaml:5" {
		t.Errorf("listed %+v", got)
	}
	u.ListsOnly = false
	if got := listEntries(u); !slices.ContainsFunc(got, func(l listEntry) bool { return l.ref.At == "/p/rules.yaml:2" }) {
		t.Errorf("listed %+v", got)
	}
}

// TestConditionText: conditions are shown as they are written.
func TestConditionText(t *testing.T) {
	for _, written := range []string{
		`input.effect.stdin != "none"`, `count(input.effect.args) > 7`, `"in_project" in input.effect.tags`,
		`not input.effect.known == true`, `regex.match("^x", input.effect.text)`, `input.effect.cwd == concat("/", ["a", input.user.home])`,
		`every a in input.effect.args { a == "z" }`, `some w in input.effect.args`, `startswith(input.effect.cwd, "/nowhere")`,
	} {
		rules := "allow contains \"x\" if {\n\tinput.effect.kind == \"run\"\n\tinput.effect.program == \"npm\"\n\t" + written + "\n}"
		if strings.HasPrefix(written, "some") {
			rules = strings.Replace(rules, "\n}", "\n\tw == \"z\"\n}", 1)
		}
		l := mustCompile(t, decisions.User, rules)
		e := run("npm", "a")
		if strings.HasPrefix(written, "some") {
			e = run("npm")
		}
		near, _ := snapshotOf(l).Nearest(t.Context(), inputOf(e), decisions.SetAllow, nil)
		if len(near) != 1 || near[0].Failed[0].Text != written || near[0].Failed[0].At != "/p/a.rego:6" {
			t.Errorf("%s: near %+v", written, near)
		}
	}
}
