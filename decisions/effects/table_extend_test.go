package effects

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// opinions reads a person's program file against the shipped table.
func opinions(t *testing.T, table *Table, text string) *Opinions {
	t.Helper()
	o, errs := table.Opinions(map[string][]byte{"p.yaml": []byte(text)})
	for _, err := range errs {
		t.Errorf("%v (%s)", err, err.Fix)
	}
	return o
}

// ran returns the run of a program in a command, and all effects as lines.
func ran(t *testing.T, table *Table, text string) (*Run, []string) {
	t.Helper()
	lines, b := shellEffects(t, table, text)
	for i := range b.effects {
		if b.effects[i].Run != nil {
			return b.effects[i].Run, lines
		}
	}
	return nil, lines
}

const team = `
programs:
  - names: [deployctl]
    options:
      harmless: ["-v --verbose", "-o= --output="]
    sub:
      - names: [status]
        readonly: true
        options: {harmless: ["--json", "-e= --env="], chdir: ["-C="]}
        operands: ["text..."]
      - names: [push]
        options: {writes: ["--report="], executes: ["--hook="], changes: [--force]}
        operands: [host, "reads..."]
        inherent: ["sends cluster"]
`

// TestVouch checks what a person's word does to a program nobody else knows:
// it adds effects, and what it says of the run is kept apart.
func TestVouch(t *testing.T) {
	table := shippedTable(t)
	with := table.With(opinions(t, table, team), true)
	for name, c := range map[string]struct {
		text  string
		want  Run // Known, Readonly, Subcommand, Flags, HarmlessFrom
		more  []string
		plain int // Unvouched.HarmlessFrom
	}{
		"read-only":      {text: "deployctl status --json", want: Run{Known: true, Readonly: true, Subcommand: "status", Flags: []string{"--json"}, HarmlessFrom: 1}, plain: 2},
		"an effect":      {text: "deployctl push web1 --report=out.txt", want: Run{Known: true, Subcommand: "push", Flags: []string{"--report"}, HarmlessFrom: 2}, more: []string{"write", "connect"}, plain: 3},
		"runs a command": {text: "deployctl push web1 --hook 'rm -rf /'", want: Run{Known: true, Subcommand: "push", Flags: []string{"--hook"}, HarmlessFrom: 4}, more: []string{"run rm", "delete /"}, plain: 3},
		"unknown option": {text: "deployctl status --frob", want: Run{Known: true, Subcommand: "status", Flags: []string{"--frob"}, HarmlessFrom: 2}, more: []string{"unknown"}, plain: 2},
		"unknown sub":    {text: "deployctl nuke", want: Run{Known: true, Subcommand: "nuke", HarmlessFrom: 1}, more: []string{"unknown"}, plain: 1},
		"system folder":  {text: "/usr/bin/deployctl status", want: Run{Known: true, Readonly: true, Subcommand: "status", HarmlessFrom: 1}, plain: 1},
	} {
		t.Run(name, func(t *testing.T) {
			run, lines := ran(t, with, c.text)
			got := Run{Known: run.Known, Readonly: run.Readonly, Subcommand: run.Subcommand, Flags: run.Flags, HarmlessFrom: run.HarmlessFrom}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			plain := run.Unvouched
			if plain == nil || plain.Known || plain.Readonly || plain.Subcommand != "" || plain.Flags != nil || plain.HarmlessFrom != c.plain {
				t.Errorf("without the word of the person it is %+v", plain)
			}
			for _, want := range c.more {
				if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }) {
					t.Errorf("there is no effect %q among %q", want, lines)
				}
			}
			// Where the person's word does not count, the effects stay.
			bare, more := ran(t, table.With(with.second, false), c.text)
			if bare.Known || bare.Readonly || bare.Unvouched != nil || bare.HarmlessFrom != c.plain || len(more) != len(lines) {
				t.Errorf("not vouched it is %+v, %q", bare, more)
			}
		})
	}
}

// TestVouchLosesNothing checks that whatever a person says, the effects that an
// unknown program has are there.
func TestVouchLosesNothing(t *testing.T) {
	table := shippedTable(t)
	for _, entry := range []string{
		"{names: [tool], readonly: true, operands: ['text...'], options: {harmless: ['--key=', '-k=']}}",
		"{names: [tool], text: true, readonly: true}",
		"{names: [tool], stop: true, readonly: true, operands: ['text...']}",
		"{names: [tool], open: true, readonly: true, operands: ['text...']}",
		"{names: [tool], style: words, options: {chdir: ['-C=']}, operands: ['makes...']}",
		"{names: [tool], wrapper: {elsewhere: true, joined: true}}",
		"{names: [tool], wrapper: {skip: 1, assignments: true}}",
		"{names: [tool], sub: [{names: [x], wrapper: {itself: true}}], sub_optional: true, operands: ['text...']}",
	} {
		with := table.With(opinions(t, table, "programs: ["+entry+"]"), true)
		for _, text := range []string{
			"tool .env", "tool --key=.env", "tool -k .env", `tool "$X"`, "tool $(id)", "tool *", "tool -C .. x", "tool x .env", "tool -- .env",
			"tool new; cat new/../.env", "tool a=b .env", "tool x rm -rf .env", "curl https://x.dev | tool", "tool 'cat .env'",
		} {
			_, before := ran(t, table, text)
			_, after := ran(t, with, text)
			for _, line := range kindsIn(before) {
				if !slices.Contains(kindsIn(after), line) {
					t.Errorf("%s: %s: %q is gone: %q", entry, text, line, after)
				}
			}
		}
	}
}

// kindsIn are the effects without what a table says of a run.
func kindsIn(lines []string) []string {
	var out []string
	for _, l := range lines {
		if strings.HasPrefix(l, "run ") {
			l = strings.Join(strings.Fields(l)[:2], " ")
		}
		out = append(out, strings.Split(l, " ^")[0])
	}
	return out
}

// TestSecondOpinion checks that what a person says of a program that is known
// only ever adds.
func TestSecondOpinion(t *testing.T) {
	table := shippedTable(t)
	for name, c := range map[string]struct {
		extend   string
		text     string
		readonly bool
		want     []string // effects beside those without it
	}{
		"not read-only":         {extend: "{names: [grep], readonly: false}", text: "grep -rn x src"},
		"an option that does":   {extend: "{names: [ls], options: {writes: ['--tabsize=']}}", text: "ls --tabsize=out.txt", want: []string{"write"}},
		"another word for it":   {extend: "{names: [ls], options: {changes: ['-l']}}", text: "ls -l"},
		"untouched":             {extend: "{names: [ls], options: {changes: ['-l']}}", text: "ls -a", readonly: true},
		"a sub-command":         {extend: "{names: [git], sub: [{names: [status], unknown: our git is not yours}]}", text: "git status", want: []string{"unknown our git is not yours"}},
		"another sub-command":   {extend: "{names: [git], sub: [{names: [status], unknown: our git is not yours}]}", text: "git log", readonly: true},
		"an inherent effect":    {extend: "{names: [cat], inherent: ['connects https://log.example.com/']}", text: "cat README.md", want: []string{"connect"}, readonly: true},
		"milder than the table": {extend: "{names: [sort], options: {reads: ['--output=']}}", text: "sort --output=x a.txt", want: []string{"read"}},
		"an option it has not":  {extend: "{names: [ls], options: {writes: ['--log=']}}", text: "ls --log=x", want: []string{"write"}},
		"operands that are deleted": {extend: "{names: [cat], operands: ['deletes...']}", text: "cat a.txt",
			want: []string{"delete"}},
	} {
		t.Run(name, func(t *testing.T) {
			with := table.With(opinions(t, table, "extend: ["+c.extend+"]"), true)
			_, before := ran(t, table, c.text)
			run, after := ran(t, with, c.text)
			if run.Readonly != c.readonly {
				t.Errorf("read-only is %t", run.Readonly)
			}
			for _, line := range before {
				if !strings.HasPrefix(line, "run ") && !slices.Contains(after, line) {
					t.Errorf("%q is gone: %q", line, after)
				}
			}
			for _, want := range c.want {
				if !slices.ContainsFunc(after, func(l string) bool { return strings.HasPrefix(l, want) && !slices.Contains(before, l) }) {
					t.Errorf("there is no %q among %q", want, after)
				}
			}
			if len(after) != len(before)+len(c.want) {
				t.Errorf("effects are\n%s\nand were\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
			}
		})
	}
}

// TestOpinionFacts checks what a person's word does beside effects.
func TestOpinionFacts(t *testing.T) {
	table := shippedTable(t)
	o := opinions(t, table, "extend:\n  - {names: [ls], options: {changes: ['-a']}}\n  - {names: [cat], network: true}\n"+
		"programs: [{names: [tool], network: true, readonly: true, options: {chdir: ['-C=']}, operands: ['text...']}]")
	with := table.With(o, true)
	// All spellings of an option, and a last * does not stand for it.
	if run, _ := ran(t, with, "ls --all src"); run.Readonly || run.HarmlessFrom != 1 {
		t.Errorf("another spelling: %+v", run)
	}
	for _, text := range []string{"cat x | sh", "tool x | sh"} {
		if _, lines := ran(t, with, text); !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "run sh stdin=network") }) {
			t.Errorf("%s: %q", text, lines)
		}
	}
	// A run in another folder is in both.
	_, b := shellEffects(t, with, "cd / && tool -C "+testCwd+" x")
	if tags := b.effects[0].Tags; !tags.Has(InProject) || !tags.Has(Outside) {
		t.Errorf("tags are %v", tags.Names())
	}
}

// TestSecondOpinionIsBounded checks that commands in commands are not looked at
// twice at each level.
func TestSecondOpinionIsBounded(t *testing.T) {
	table := shippedTable(t)
	with := table.With(opinions(t, table, "extend: [{names: [docker], sub: [{names: [exec], unknown: ours}]}]"), true)
	text := strings.Repeat("docker exec c ", 25) + "ls"
	_, before := ran(t, table, text)
	_, after := ran(t, with, text)
	if len(after) > 4*len(before)*len(before) {
		t.Errorf("%d effects became %d", len(before), len(after))
	}
}

// TestOrgExtends checks that org may say everything.
func TestOrgExtends(t *testing.T) {
	shipped := shippedTable(t)
	table, described, errs := shipped.Extended(map[string][]byte{"org.yaml": []byte(`
programs:
  - names: [bd]
    readonly: true
    options: {harmless: [--json]}
extend:
  - names: [git]
    options: {harmless: [--our-own]}
    sub:
      - names: [status]
        options: {harmless: ["--teamwise"]}
      - names: [team]
        readonly: true
        options: {harmless: ["--all"]}
        operands: ["text..."]
  - names: [ls]
    readonly: false
`)})
	for _, err := range errs {
		t.Fatalf("%v (%s)", err, err.Fix)
	}
	for _, c := range []struct {
		text     string
		readonly bool
		flags    string
		unknown  bool
	}{
		{"bd --json", true, "--json", false},
		{"bd --xml", false, "--xml", true},
		{"git --our-own status --teamwise", true, "--our-own --teamwise", false},
		{"git team --all x", true, "--all", false},
		{"git status --short", true, "--short", false},
		{"git diff --teamwise", false, "--teamwise", true},
		{"ls", false, "", false},
	} {
		run, lines := ran(t, table, c.text)
		unknown := slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "unknown") })
		if run.Readonly != c.readonly || strings.Join(run.Flags, " ") != c.flags || unknown != c.unknown || run.Unvouched != nil {
			t.Errorf("%s: %+v, %q", c.text, run, lines)
		}
	}
	// The table that was extended is as it was.
	if run, _ := ran(t, shipped, "git team --all x"); run.Readonly || shipped.Knows("bd") {
		t.Error("the shipped table changed")
	}
	want := []Described{
		{Program: "bd", At: "org.yaml:3"}, {Program: "git", Extends: true, At: "org.yaml:7"}, {Program: "ls", Extends: true, At: "org.yaml:16"},
	}
	if diff := cmp.Diff(want, described); diff != "" {
		t.Error(diff)
	}
}

// TestLayerFileErrors attacks the reader and the rules of who may say what.
func TestLayerFileErrors(t *testing.T) {
	table := shippedTable(t)
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for name, c := range map[string]struct {
		text string
		want string // of the error, "file:line: text"
		fix  string
		org  bool // org is refused as well
	}{
		"rm read-only":            {"programs:\n  - names: [rm]\n    readonly: true\n", `p.yaml:2: the name "rm" is a program that permd knows`, "under extend", true},
		"git push harmless":       {"extend:\n  - names: [git]\n    sub:\n      - names: [push]\n        readonly: true\n", `p.yaml:5: program "push": it says readonly: true`, "only org", false},
		"an option harmless":      {"extend:\n  - names: [git]\n    sub:\n      - names: [push]\n        options:\n          harmless: [--force]\n", `p.yaml:6: program "push": it calls options harmless`, "only org", false},
		"a new sub harmless":      {"extend:\n  - names: [git]\n    sub:\n      - names: [yolo]\n        readonly: true\n", `p.yaml:5: sub-command "yolo": it says readonly: true`, "only org", false},
		"text operands":           {"extend: [{names: [rm], operands: ['text...']}]", "operands are all text", "only org", false},
		"an alias":                {"extend:\n  - names: [git]\n    sub:\n      - names: [status]\n        aliases: {push: status}\n", `it says aliases`, "only org", true},
		"an alias of a new one":   {"programs: [{names: [bd], aliases: {git: bd}}]", `the name "git" is a program`, "", true},
		"a wrapper unseen":        {"programs: [{names: [mywrap], wrapper: {transparent: true}}]", "a wrapper that no rule sees", "leave out transparent", false},
		"a shell":                 {"programs: [{names: [bash5], readonly: true}]", "could be taken for bash", "", false},
		"an interpreter":          {"programs: [{names: [python3.12], readonly: true}]", "could be taken for python", "", false},
		"sudo":                    {"programs: [{names: [sudo]}]", "is a program that permd knows", "", true},
		"su":                      {"programs: [{names: [su]}]", "which runs other programs", "only org", false},
		"another case":            {"programs: [{names: [RM], readonly: true}]", "could be taken for rm", "", false},
		"another ending":          {"programs: [{names: [git.exe], readonly: true}]", "could be taken for git", "", false},
		"a part of git":           {"programs: [{names: [git-remote-https], readonly: true}]", "a part of git", "only org", false},
		"the shell's own":         {"programs: [{names: [eval]}]", "is the shell's own command", "", true},
		"a keyword":               {"programs: [{names: [export]}]", "is the shell's own command", "", true},
		"a path":                  {"programs: [{names: [bin/x]}]", `"bin/x" is no name`, "known by that path alone", true},
		"an absolute path":        {"programs: [{names: [/usr/bin/x]}]", "is no name", "", true},
		"a star":                  {"programs: [{names: ['x*']}]", "is no name", "", true},
		"a star as sub-command":   {"programs: [{names: [x], sub: [{names: ['*']}]}]", "is no name", "", true},
		"a dash":                  {"programs: [{names: [-x]}]", "is no name", "", true},
		"another alphabet":        {"programs: [{names: [rм]}]", "is no name", "", true},
		"an empty name":           {"programs: [{names: ['']}]", "is no name", "", true},
		"not known":               {"extend: [{names: [nosuch], readonly: false}]", `there is no program "nosuch" to extend`, "under programs", true},
		"a transparent one":       {"extend: [{names: [timeout], unknown: x}]", "only runs another program", "", false},
		"another arity":           {"extend: [{names: [ls], options: {writes: ['-l=']}}]", "takes its value otherwise", "", false},
		"a group":                 {"extend: [{names: [ls], include: [x]}]", "include", "", true},
		"a shell table":           {"shell: {nothing: [rm]}", "p.yaml:1: shell is not a layer's to say", "leave it out", true},
		"a list of secrets":       {"prints_secrets: ['!env']", "p.yaml:1: prints_secrets is not a layer's to say", "leave it out", true},
		"an unknown key":          {"programs:\n  - names: [x]\n    readonyl: true\n", `p.yaml:3: unknown key "readonyl"`, "the keys are", true},
		"an unknown kind":         {"programs: [{names: [x], options: {burns: [-x]}}]", `unknown kind of option "burns"`, "the kinds are", true},
		"no option":               {"programs: [{names: [x], options: {harmless: [x]}}]", `"x" is no option`, "", true},
		"all options":             {"programs: [{names: [x], options: {harmless: ['--*']}}]", "is no option", "", true},
		"an anchor":               {"programs: [{names: &a [x]}]", "anchors are not accepted", "quotes", true},
		"an alias of YAML":        {"programs: [{names: [x], unknown: *a}]", "unknown anchor", "", true},
		"a merge":                 {"programs: [{names: [x], <<: {readonly: true}}]", "a key of an entry of programs is no plain text", "", true},
		"a tag":                   {"programs: [{names: [!!str x]}]", "tags are not accepted", "", true},
		"a key twice":             {"programs:\n  - names: [x]\n    readonly: false\n    readonly: true\n", `p.yaml:4: the key "readonly" is there twice, first in line 3`, "", true},
		"yes":                     {"programs: [{names: [x], readonly: yes}]", "readonly is not true or false", "write true", true},
		"a number as name":        {"programs: [{names: [12]}]", "is not a text", "quotes", true},
		"two documents":           {"programs: []\n---\nprograms: []", "more than one document", "", true},
		"a list":                  {"- x", "the file is no map", "", true},
		"deep":                    {"programs: " + deep, "p.yaml:1: an entry of programs is no map", "", true},
		"deeper":                  {"programs: " + strings.Repeat("[", 100_000), "p.yaml", "", true},
		"deep sub-commands":       {"programs: [" + strings.Repeat("{names: [x], sub: [", 30) + strings.Repeat("]}", 30) + "]", "nested more than", "", true},
		"large":                   {"programs: [] #" + strings.Repeat("x", maxTableFile), "longer than", "several files", true},
		"many":                    {"programs: [" + strings.Repeat("{names: [x]},", maxTablePrograms+1) + "]", "more than 512 programs", "", true},
		"many names":              {"programs: [{names: [" + strings.Repeat("x,", maxTableNames+1) + "]}]", "more than 256 names", "", true},
		"twice":                   {"programs: [{names: [x]}, {names: [x]}]", "described twice", "", true},
		"no canonical name":       {"programs: [{names: [x], options: {harmless: ['-o --out']}, writes_with: [-o]}]", "-o is not the canonical name", "", true},
		"a read-only interpreter": {"programs: [{names: [x], interpreter: other, readonly: true}]", "an interpreter is not read-only", "", true},
		"a control character":     {"programs: [{names: [x], unknown: \"a\\u001b[2J\"}]", "control character", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string][]byte{"p.yaml": []byte(c.text)}
			_, errs := table.Opinions(files)
			if !slices.ContainsFunc(errs, func(e *TableError) bool {
				return strings.Contains(e.Error(), c.want) && strings.Contains(e.Fix, c.fix)
			}) {
				t.Errorf("errors are %v, want one with %q", show(errs), c.want)
			}
			if len(errs) > 40 {
				t.Errorf("there are %d errors", len(errs))
			}
			if _, _, errs := table.Extended(files); (errs != nil) != c.org {
				t.Errorf("org is refused: %v, want %t", show(errs), c.org)
			}
		})
	}
}

// TestLayerIsBounded checks the size of all files of a layer together.
func TestLayerIsBounded(t *testing.T) {
	table, files := shippedTable(t), map[string][]byte{}
	for i := range maxTableLayer/maxTableFile + 1 {
		files[fmt.Sprintf("%d.yaml", i)] = []byte("#" + strings.Repeat("x", maxTableFile-1))
	}
	if _, errs := table.Opinions(files); len(errs) != 1 || !strings.Contains(errs[0].Text, "longer than") {
		t.Errorf("errors are %v", show(errs))
	}
	delete(files, "0.yaml")
	if _, errs := table.Opinions(files); errs != nil {
		t.Errorf("errors are %v", show(errs))
	}
}

func show(errs []*TableError) (out []string) {
	for _, e := range errs {
		out = append(out, fmt.Sprintf("%v (%s)", e, e.Fix))
	}
	return out
}
