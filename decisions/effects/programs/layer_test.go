package programs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestLayerFileErrors has files that the reader must refuse: malformed ones, and
// ones that say more than their layer may.
func TestLayerFileErrors(t *testing.T) {
	table := shipped(t)
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for name, c := range map[string]struct {
		text string
		want string // a part of the error, "file:line: text"
		fix  string
		org  bool // refused for org too
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
		"pkexec":                  {"programs: [{names: [pkexec]}]", "which runs other programs", "only org", false},
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
		"an unknown role":         {"programs: [{names: [x], options: {burns: [-x]}}]", `unknown role of options "burns"`, "the roles are", true},
		"no option":               {"programs: [{names: [x], options: {harmless: [x]}}]", `"x" is no option`, "", true},
		"all options":             {"programs: [{names: [x], options: {harmless: ['--*']}}]", "is no option", "", true},
		"an anchor":               {"programs: [{names: &a [x]}]", "anchors are not accepted", "quotes", true},
		"an alias of YAML":        {"programs: [{names: [x], unknown: *a}]", "unknown anchor", "", true},
		"a merge":                 {"programs: [{names: [x], <<: {readonly: true}}]", "a key of an entry of programs is no plain text", "", true},
		"a hidden line":           {"programs:\n  - names: [x]\n    # a note\r    readonly: true\n", "p.yaml:3: it holds a character", "take the character out", true},
		"a hidden line, Unicode":  {"programs: # x\u2028  - names: [rm]\n", "p.yaml:1: it holds a character", "", true},
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
			_, errs := table.ParseOverlay(files)
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
	table, files := shipped(t), map[string][]byte{}
	for i := range maxTableLayer/maxTableFile + 1 {
		files[fmt.Sprintf("%d.yaml", i)] = []byte("#" + strings.Repeat("x", maxTableFile-1))
	}
	if _, errs := table.ParseOverlay(files); len(errs) != 1 || !strings.Contains(errs[0].Text, "longer than") {
		t.Errorf("errors are %v", show(errs))
	}
	delete(files, "0.yaml")
	if _, errs := table.ParseOverlay(files); errs != nil {
		t.Errorf("errors are %v", show(errs))
	}
}

func show(errs []*TableError) (out []string) {
	for _, e := range errs {
		out = append(out, fmt.Sprintf("%v (%s)", e, e.Fix))
	}
	return out
}
