package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/effectstest"
	"github.com/permd/permd/decisions/effects/programs"
)

// opinions reads a person's program file as an overlay of the shipped table.
func opinions(t *testing.T, table *programs.Table, text string) *programs.Overlay {
	t.Helper()
	o, errs := table.ParseOverlay(map[string][]byte{"p.yaml": []byte(text)})
	for _, err := range errs {
		t.Errorf("%v (%s)", err, err.Fix)
	}
	return o
}

// ran returns the run of a program in a command, and all effects as lines.
func ran(t *testing.T, table *programs.Table, text string) (*effects.Run, []string) {
	t.Helper()
	lines, b := shellEffects(t, table, text)
	for i := range b.Effects {
		if b.Effects[i].Run != nil {
			return b.Effects[i].Run, lines
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

// TestUserProgram checks a person's entry for a program that no other layer has: it adds
// effects, and its facts about the run are kept apart.
func TestUserProgram(t *testing.T) {
	table := effectstest.Table(t)
	o := opinions(t, table, team)
	with := table.With(o, true)
	for name, c := range map[string]struct {
		text  string
		want  effects.Run // Known, Readonly, Subcommand, Flags, HarmlessFrom
		more  []string
		plain int // WithoutOverlay.HarmlessFrom
	}{
		"read-only":      {text: "deployctl status --json", want: effects.Run{Known: true, Readonly: true, Subcommand: "status", Flags: []string{"--json"}, HarmlessFrom: 1}, plain: 2},
		"an effect":      {text: "deployctl push web1 --report=out.txt", want: effects.Run{Known: true, Subcommand: "push", Flags: []string{"--report"}, HarmlessFrom: 2}, more: []string{"write", "connect"}, plain: 3},
		"runs a command": {text: "deployctl push web1 --hook 'rm -rf /'", want: effects.Run{Known: true, Subcommand: "push", Flags: []string{"--hook"}, HarmlessFrom: 4}, more: []string{"run rm", "delete /"}, plain: 3},
		"unknown option": {text: "deployctl status --frob", want: effects.Run{Known: true, Subcommand: "status", Flags: []string{"--frob"}, HarmlessFrom: 2}, more: []string{"unknown"}, plain: 2},
		"unknown sub":    {text: "deployctl nuke", want: effects.Run{Known: true, Subcommand: "nuke", HarmlessFrom: 1}, more: []string{"unknown"}, plain: 1},
		"system folder":  {text: "/usr/bin/deployctl status", want: effects.Run{Known: true, Readonly: true, Subcommand: "status", HarmlessFrom: 1}, plain: 1},
	} {
		t.Run(name, func(t *testing.T) {
			run, lines := ran(t, with, c.text)
			got := effects.Run{Known: run.Known, Readonly: run.Readonly, Subcommand: run.Subcommand, Flags: run.Flags, HarmlessFrom: run.HarmlessFrom}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			plain := run.WithoutOverlay
			if plain == nil || plain.Known || plain.Readonly || plain.Subcommand != "" || plain.Flags != nil || plain.HarmlessFrom != c.plain {
				t.Errorf("without the word of the person it is %+v", plain)
			}
			for _, want := range c.more {
				if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }) {
					t.Errorf("there is no effect %q among %q", want, lines)
				}
			}
			// Where the person's entry does not count, the effects remain.
			bare, more := ran(t, table.With(o, false), c.text)
			if bare.Known || bare.Readonly || bare.WithoutOverlay != nil || bare.HarmlessFrom != c.plain || len(more) != len(lines) {
				t.Errorf("without the overlay it is %+v, %q", bare, more)
			}
		})
	}
}

// TestUserProgramLosesNothing checks that a person's entry never takes away the effects
// of an unknown program.
func TestUserProgramLosesNothing(t *testing.T) {
	table := effectstest.Table(t)
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

// kindsIn returns the effects, without the table's facts about runs.
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

// TestUserOverlay checks that a person's entry for a known program only adds
// effects.
func TestUserOverlay(t *testing.T) {
	table := effectstest.Table(t)
	for name, c := range map[string]struct {
		extend   string
		text     string
		readonly bool
		want     []string // effects in addition to those without the entry
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

// TestOverlayFacts checks the facts about runs that a person's entry changes.
func TestOverlayFacts(t *testing.T) {
	table := effectstest.Table(t)
	o := opinions(t, table, "extend:\n  - {names: [ls], options: {changes: ['-a']}}\n  - {names: [cat], network: true}\n"+
		"programs: [{names: [tool], network: true, readonly: true, options: {chdir: ['-C=']}, operands: ['text...']}]")
	with := table.With(o, true)
	// All spellings of an option, which a final * does not match.
	if run, _ := ran(t, with, "ls --all src"); run.Readonly || run.HarmlessFrom != 1 {
		t.Errorf("another spelling: %+v", run)
	}
	for _, text := range []string{"cat x | sh", "tool x | sh"} {
		if _, lines := ran(t, with, text); !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "run sh stdin=network") }) {
			t.Errorf("%s: %q", text, lines)
		}
	}
	// A run in another folder has it in both folders.
	_, b := shellEffects(t, with, "cd / && tool -C "+effectstest.Cwd+" x")
	if tags := b.Effects[0].Tags; !tags.Has(effects.InProject) || !tags.Has(effects.Outside) {
		t.Errorf("tags are %v", tags.Names())
	}
}

// TestUserOverlayIsBounded checks that nested commands are not read two times at
// each level.
func TestUserOverlayIsBounded(t *testing.T) {
	table := effectstest.Table(t)
	with := table.With(opinions(t, table, "extend: [{names: [docker], sub: [{names: [exec], unknown: ours}]}]"), true)
	text := strings.Repeat("docker exec c ", 25) + "ls"
	_, before := ran(t, table, text)
	_, after := ran(t, with, text)
	if len(after) > 4*len(before)*len(before) {
		t.Errorf("%d effects became %d", len(before), len(after))
	}
}

// TestOrgExtends checks that org may set every key.
func TestOrgExtends(t *testing.T) {
	shipped := effectstest.Table(t)
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
		if run.Readonly != c.readonly || strings.Join(run.Flags, " ") != c.flags || unknown != c.unknown || run.WithoutOverlay != nil {
			t.Errorf("%s: %+v, %q", c.text, run, lines)
		}
	}
	// The extended table itself is unchanged.
	if run, _ := ran(t, shipped, "git team --all x"); run.Readonly || shipped.Knows("bd") {
		t.Error("the shipped table changed")
	}
	want := []programs.LayerProgram{
		{Program: "bd", At: "org.yaml:3"}, {Program: "git", Extends: true, At: "org.yaml:7"}, {Program: "ls", Extends: true, At: "org.yaml:16"},
	}
	if diff := cmp.Diff(want, described); diff != "" {
		t.Error(diff)
	}
}
