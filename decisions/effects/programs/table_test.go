package programs

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParseTableErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a printer of nothing":   {`prints_secrets: ["a", "! "]`, "without a program"},
		"a printer taken back":   {`prints_secrets: ["!a b -c"]`, "has no options"},
		"unknown key":            {"programs: [{names: [x], readonyl: true}]", "readonyl"},
		"no name":                {"programs: [{readonly: true}]", "no names"},
		"name with a slash":      {"programs: [{names: [a/b]}]", "one word"},
		"an alias of nothing":    {"programs: [{names: [x], aliases: {y: z}}]", "no name of the program"},
		"same without words":     {"programs: [{names: [x]}]\nsame: [x]", "expected PROGRAM WORDS"},
		"same of no program":     {"programs: [{names: [x]}]\nsame: [y a = b]", "there is no program"},
		"same as nothing":        {"programs: [{names: [x], sub: [{names: [a], sub: [{names: [b]}]}]}]\nsame: [x a b = c]", "there is no sub-command"},
		"same with an option":    {"programs: [{names: [x], options: {harmless: [-o]}}]\nsame: [x a = -o b]", "does not have these words"},
		"an alias twice":         {"programs: [{names: [x, y], aliases: {y: x}}]", "described twice"},
		"twice":                  {"programs: [{names: [x]}, {names: [y, x]}]", "described twice"},
		"unknown role of option": {"programs: [{names: [x], options: {burns: [-x]}}]", `unknown role of options "burns"`},
		"option twice":           {"programs: [{names: [x], options: {harmless: [-x], writes: [-x=]}}]", "described twice"},
		"option without a name":  {"programs: [{names: [x], options: {harmless: ['']}}]", "without a name"},
		"unknown operand role":   {"programs: [{names: [x], operands: [burns]}]", `unknown role of operands "burns"`},
		"operand with a typo":    {"programs: [{names: [x], operands: [text unles -x]}]", "expected unless"},
		"empty operand":          {"programs: [{names: [x], operands: ['']}]", "empty operand"},
		"unknown style":          {"programs: [{names: [x], style: dos}]", "dos"},
		"unknown interpreter":    {"programs: [{names: [x], interpreter: yes it is}]", "interpreter"},
		"unknown group":          {"programs: [{names: [x], include: [y]}]", "unknown group"},
		"unknown effect role":    {"programs: [{names: [x], inherent: [burns it]}]", `unknown role of effects "burns"`},
		"short effect":           {"programs: [{names: [x], inherent: [reads]}]", "role and a value"},
		"effect with a typo":     {"programs: [{names: [x], implicit: [reads . when -x]}]", "expected with"},
		"a read sometimes":       {"programs: [{names: [x], inherent: [reads . sometimes]}]", "only connections"},
		"bad sub-command":        {"programs: [{names: [x], sub: [{names: [y], style: dos}]}]", `sub-command "y"`},
		"sub-command twice":      {"programs: [{names: [x], sub: [{names: [y]}, {names: [y]}]}]", "described twice"},
		"a star in a name":       {"programs: [{names: ['x*']}]", "only sub-commands"},
		"two documents":          {"programs: []\n---\nprograms: []", "more than one document"},
		"not YAML":               {"\t", "reading program table bad.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseTable(map[string][]byte{"bad.yaml": []byte(c.text)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestParseTableAcrossFiles(t *testing.T) {
	_, err := ParseTable(map[string][]byte{
		"a.yaml": []byte("programs: [{names: [x]}]"),
		"b.yaml": []byte("programs: [{names: [x]}]"),
	})
	if err == nil || !strings.Contains(err.Error(), "b.yaml") {
		t.Errorf("error is %v, want one that names the second file", err)
	}
	table, err := ParseTable(map[string][]byte{
		"a.yaml":     []byte("programs: [{names: [x], include: [common]}]"),
		"z.yaml":     []byte("groups: {common: {writes: ['-o= --output=']}}"),
		"empty.yaml": nil,
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := table.Program("x").Options["-o"]; o == nil || o.Canonical != "--output" || o.Role != RoleWrites {
		t.Errorf("option is %+v", o)
	}
}

// TestShippedTable checks what no parser can: that the shipped data is consistent.
func TestShippedTable(t *testing.T) {
	table := shipped(t)
	programs := slices.Collect(maps.Keys(table.programs))
	for _, name := range table.Names() {
		p := table.Program(name)
		checkProgram(t, name, p, programs)
	}
	for _, name := range []string{"PATH", "HOME", "PAGER", "EDITOR", "BASH_ENV", "ENV", "LD_PRELOAD", "IFS", "GIT_PAGER", "GIT_SSH_COMMAND", "NODE_OPTIONS"} {
		for _, value := range []string{"", "x", "/x", "./x"} {
			if table.HarmlessAssignment(name, value) {
				t.Errorf("%s=%s counts as harmless", name, value)
			}
		}
	}
	for assignment, want := range map[string]bool{
		"LC_ALL=C.UTF-8": true, "TZ=Europe/Berlin": true, "CI=1": true, "GIT_PAGER=cat": true, "PAGER=cat": true, "GIT_EDITOR=true": true,
		// These options name files to read, or a program to run.
		"LC_ALL=/tmp/x": false, "LANGUAGE=../x": false, "TZ=:/etc/shadow": false, "TERM=../x": false, "PAGER=cat x": false, "GIT_PAGER=./cat": false,
		"LANGUAGE=de:en": true, "LC_ALL=de_DE@euro": true, "TZ=EST5EDT,M3.2.0": true, "CI=": true,
		// What make and shells expand where a makefile or a script has the variable.
		"CI=$(shell id)": false, "CI=${x}": false, "TERM=x; id": false, "TZ=`id`": false, "LANG=a b": false, "CI=--eval=x": false, "COLUMNS=*": false, "LC_X=a\nb": false, "CI=a|b": false,
	} {
		name, value, _ := strings.Cut(assignment, "=")
		if table.HarmlessAssignment(name, value) != want {
			t.Errorf("%s counts as harmless: %v", assignment, !want)
		}
	}
}

func checkProgram(t *testing.T, name string, p *Program, programs []string) {
	t.Helper()
	for _, wrong := range p.brokenInvariants() {
		t.Errorf("%s: %s", name, wrong)
	}
	for sub, inner := range p.Subs {
		checkProgram(t, name+" "+sub, inner, programs)
	}
	for _, h := range p.subHeads {
		checkProgram(t, name+" "+h.head+"*", h.sub, programs)
	}
	for module, program := range p.Modules {
		if !slices.Contains(programs, program) {
			t.Errorf("%s: the module %s is no program: %s", name, module, program)
		}
	}
}

// TestParseTableLines checks that an error names its line in the file.
func TestParseTableLines(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an option":      {"programs:\n  - names: [x]\n    options:\n      harmless:\n        - -a\n        - -a\n", "bad.yaml:6:"},
		"an operand":     {"programs:\n  - names: [x]\n    operands:\n      - reads\n      - burns\n", "bad.yaml:5:"},
		"an effect":      {"programs:\n  - names: [x]\n    implicit:\n      - burns it\n", "bad.yaml:4:"},
		"a kind":         {"programs:\n  - names: [x]\n    options:\n      burns: [-x]\n", "bad.yaml:4:"},
		"a style":        {"programs:\n  - names: [y]\n  - names: [x]\n    style: dos\n", "bad.yaml:3:"},
		"a sub-command":  {"programs:\n  - names: [x]\n    sub:\n      - names: [y]\n        style: dos\n", "bad.yaml:4:"},
		"a second one":   {"programs:\n  - names: [x]\n  - names: [x]\n", "bad.yaml:3:"},
		"an unknown key": {"programs:\n  - names: [x]\n    readonyl: true\n", `bad.yaml:3: unknown key "readonyl"`},
		"a value":        {"programs:\n  - names: [x]\n    readonly: [y]\n", "bad.yaml:3: cannot unmarshal !!seq"},
		"broken YAML":    {"programs:\n  - names: [x\n", "bad.yaml: yaml: line"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseTable(map[string][]byte{"bad.yaml": []byte(c.text)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestGroups checks that a program's own options override those of a group, that
// groups apply to sub-commands, and that two files cannot describe one group.
func TestGroups(t *testing.T) {
	table, err := ParseTable(map[string][]byte{"a.yaml": []byte(`
groups:
  common: {harmless: ["-x --extra", "-q"]}
programs:
  - names: [p]
    include_below: [common]
    options: {writes: ["-x="]}
    sub: [{names: [one, "list-*"]}]
`)})
	if err != nil {
		t.Fatal(err)
	}
	p := table.Program("p")
	for spelling, want := range map[string]Role{"-x": RoleWrites, "--extra": RoleText, "-q": RoleText} {
		if o := p.Options[spelling]; o == nil || o.Role != want {
			t.Errorf("%s is %+v", spelling, o)
		}
	}
	for _, name := range []string{"one", "list-x"} {
		if sub := p.Sub(name); sub == nil || sub.Options["-x"] == nil || sub.Options["-x"].Role != RoleText {
			t.Errorf("%s is %+v", name, sub)
		}
	}
	if p.Sub("two") != nil || p.Sub("-list-x") != nil {
		t.Error("a sub-command out of nothing")
	}
	_, err = ParseTable(map[string][]byte{
		"a.yaml": []byte("groups: {x: {harmless: [-x]}}"), "b.yaml": []byte("groups: {x: {harmless: [-y]}}"),
	})
	if err == nil || !strings.Contains(err.Error(), "b.yaml:1: ") {
		t.Errorf("error is %v, want one that names the second file", err)
	}
}

// TestTableIsDocumented checks that the README of the table explains each word
// and key of the files.
func TestTableIsDocumented(t *testing.T) {
	data, err := os.ReadFile("../../../rego/programs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	words := slices.Collect(maps.Keys(roleNames))
	for _, of := range []reflect.Type{reflect.TypeFor[programEntry](), reflect.TypeFor[wrapperEntry]()} {
		for i := range of.NumField() {
			if of.Field(i).IsExported() {
				words = append(words, of.Field(i).Tag.Get("yaml"))
			}
		}
	}
	for _, word := range words {
		switch word {
		case "names", "options", "operands", "abbreviations":
			continue // it is in the README's example
		}
		if !strings.Contains(string(data), "`"+word+"`") {
			t.Errorf("%s is not explained", word)
		}
	}
}
