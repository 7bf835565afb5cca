package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/permd/permd/bench/shipped"
)

// table is the program table that forms are made from.
type table struct {
	groups   map[string]map[string][]string
	programs map[string]*shipped.Entry // by name
}

func readTable() (*table, error) {
	shippedTable, err := shipped.ReadTable()
	if err != nil {
		return nil, err
	}
	t := &table{groups: shippedTable.Groups, programs: map[string]*shipped.Entry{}}
	for i := range shippedTable.Programs {
		for _, n := range shippedTable.Programs[i].Names {
			t.programs[n] = &shippedTable.Programs[i]
		}
	}
	return t, nil
}

// Bounds of the forms that are made.
const (
	maxForms  = 20000 // forms of one program
	maxValues = 3     // values of one option
)

// untried are the roles of options and operands that no form is made from: no
// decision calls them harmless, or their value would have to lie outside of this
// machine. What is missing here and in values fails a test.
var untried = []string{
	"changes", "unknown", "writes", "executes", "command", "script", "inline", "module", "deletes", "moves", "connects", "sends",
	"assigns", "begins", "copies", "copies_into", "data", "download", "endpoint", "field", "form", "git_config", "go_flags", "host", "image", "into", "link",
	"make_target", "makes", "mount", "refspec", "remote", "repository", "server_sql", "target", "tool", "unpack_to",
}

// form is one command line, with the entry of the table that it tries: a
// sub-command, or one of its options.
type form struct {
	words []string
	tries string
}

// forms returns the command lines of a program that permd decides: each sub-command
// without and with operands, with each option, with --version and with help. Only
// those that permd allows are run.
func (t *table) forms(name string) []form {
	e := t.programs[name]
	if e == nil {
		return nil
	}
	f := &former{t: t, seen: map[string]bool{}}
	for _, words := range [][]string{{"--version"}, {"--help"}, {"help"}, {"version"}, {"-version"}, {"-V"}, {"-v"}, {"-h"}} {
		f.add(append([]string{name}, words...), strings.Join(append([]string{name}, words...), " "))
	}
	f.entry(e, []string{name}, nil)
	// Take one form of each sub-command in turn, so that the bound cuts all
	// sub-commands equally.
	for more, n := true, 0; more; n++ {
		more = false
		for _, options := range f.options {
			if n < len(options) {
				more = true
				f.add(options[n].words, options[n].tries)
			}
		}
	}
	return f.all
}

type former struct {
	t    *table
	seen map[string]bool
	all  []form
	// options adds the forms that have options, by sub-command.
	options [][]form
}

func (f *former) add(words []string, tries string) {
	key := strings.Join(words, "\x00")
	if !f.seen[key] && len(f.all) < maxForms {
		f.seen[key] = true
		f.all = append(f.all, form{slices.Clone(words), tries})
	}
}

func (f *former) entry(e *shipped.Entry, words, below []string) {
	below = append(slices.Clip(below), e.IncludeBelow...)
	operands := operandsOf(e)
	at := strings.Join(words, " ")
	f.add(words, at)
	for _, o := range operands {
		f.add(append(slices.Clip(words), o...), at)
	}
	// Sub-commands come first, so that the bound does not drop their plain forms.
	for i := range e.Sub {
		for _, name := range e.Sub[i].Names {
			if strings.Contains(name, "*") {
				continue
			}
			inner := append(slices.Clip(words), name)
			f.add(inner, strings.Join(inner, " "))
			for _, o := range operandsOf(&e.Sub[i]) {
				f.add(append(slices.Clip(inner), o...), strings.Join(inner, " "))
			}
			for _, help := range []string{"--help", "-h"} {
				f.add(append(slices.Clip(inner), help), strings.Join(inner, " ")+" "+help)
			}
		}
	}
	var with []form
	for _, o := range f.optionsOf(e, below) {
		for _, option := range o {
			name, _, _ := strings.Cut(option[0], "=")
			for _, operand := range append(slices.Clip(operands), nil) {
				with = append(with, form{slices.Concat(words, option, operand), at + " " + name})
			}
		}
	}
	f.options = append(f.options, with)
	for i := range e.Sub {
		for _, name := range e.Sub[i].Names[:min(len(e.Sub[i].Names), 12)] {
			if !strings.Contains(name, "*") {
				f.entry(&e.Sub[i], append(slices.Clip(words), name), below)
			}
		}
	}
}

// optionsOf returns, for each option, the words that give it.
func (f *former) optionsOf(e *shipped.Entry, below []string) [][][]string {
	var all [][][]string
	seen := map[string]bool{}
	lists := []map[string][]string{e.Options}
	for _, group := range slices.Concat(e.Include, below) {
		lists = append(lists, f.t.groups[group])
	}
	for _, list := range lists {
		for _, kind := range slices.Sorted(maps.Keys(list)) {
			if slices.Contains(untried, kind) {
				continue
			}
			for _, line := range list[kind] {
				spelled := strings.Fields(line)
				first := spelled[len(spelled)-1]
				if seen[first] {
					continue
				}
				seen[first] = true
				all = append(all, given(first, kind))
			}
		}
	}
	return all
}

// given returns the words of an option, once for each value that is tried.
func given(spelling, kind string) [][]string {
	name := strings.TrimRight(spelling, "=[]")
	switch {
	case strings.HasSuffix(spelling, "[=]"):
		return [][]string{{name}}
	case strings.HasSuffix(spelling, "=="):
		return [][]string{{name, "a", "b"}}
	case !strings.HasSuffix(spelling, "="):
		return [][]string{{name}}
	}
	var all [][]string
	for _, value := range values[kind][:min(len(values[kind]), maxValues)] {
		if strings.HasPrefix(name, "--") {
			all = append(all, []string{name + "=" + value})
		} else {
			all = append(all, []string{name, value})
		}
	}
	return all
}

// values are the values that are tried for an option or operand, by role. Each role of
// the program table is here or in untried.
var values = map[string][]string{
	"harmless": {"1", "a", "json"}, "text": {"1", "a"}, "plain": {"a"}, "globs": {"*.txt"}, "types": {"c"},
	"reads": {"a.txt"}, "sources": {"a.txt"}, "viewed": {"a.txt"}, "database": {"a.db"}, "lists": {"."}, "loads": {"a.txt"},
	"name": {"ls"}, "chdir": {"sub"}, "package": {"./..."}, "package_spec": {"left-pad"}, "ref": {"HEAD"}, "sed": {"p"},
	"awk": {"{ print $1 }"}, "jq": {"."}, "sql": {"select 1"}, "git_format": {"%H"}, "format": {"+%Y"}, "guarded_text": {"a"}, "method": {"GET"}, "archive": {"a.tar"}, "packs": {"a.gz"},
	"runner_words": {"a"}, "number": {"1"}, "charset": {"utf-8"}, "socket": {":80"}, "columns": {"pid"}, "from_top": {"a.txt"}, "git_sort": {"refname"},
	"matched": {"a.txt"}, "unfetched": {"a"}, "suffix": {".bak"}, "yq": {"."}, "object": {"a.txt"},
}

// operandsOf returns sets of operands that a program may be given.
func operandsOf(e *shipped.Entry) [][]string {
	all := slices.Clone(operandsFor[e.Names[0]])
	var words []string
	for _, o := range e.Operands {
		kind, _, _ := strings.Cut(o, " ")
		kind = strings.TrimSuffix(kind, "...")
		v := values[kind]
		if len(v) == 0 {
			break
		}
		words = append(words, v[0])
	}
	if len(words) > 0 {
		all = append(all, words)
	}
	return all
}

// operandsFor are further operands, by the first name of a program or sub-command,
// for those that do more with them than with the values of their operands' roles.
var operandsFor = map[string][][]string{
	"find": {{"."}}, "diff": {{"a.txt", "b.txt"}}, "log": {{"HEAD", "--", "a.txt"}}, "show": {{"HEAD"}, {"HEAD:a.txt"}},
	"blame": {{"a.txt"}}, "ls": {{"."}}, "grep": {{"-r", "a", "."}}, "rev-parse": {{"HEAD"}}, "cat-file": {{"HEAD"}}, "list": {{"./..."}},
	"doc": {{"fmt"}}, "describe": {{"HEAD"}}, "ls-tree": {{"HEAD"}}, "rev-list": {{"HEAD"}}, "date": {{"+%Y"}}, "expr": {{"1", "+", "1"}}, "seq": {{"3"}},
	"sleep": {{"0"}}, "comm": {{"a.txt", "b.txt"}}, "cmp": {{"a.txt", "b.txt"}}, "join": {{"a.txt", "b.txt"}}, "which": {{"ls"}}, "test": {{"-f", "a.txt"}},
	"[": {{"-f", "a.txt", "]"}}, "tr": {{"a", "b"}}, "cut": {{"-c", "1", "a.txt"}}, "sed": {{"-n", "p", "a.txt"}}, "awk": {{"{ print $1 }", "a.txt"}},
	"jq": {{".", "a.json"}}, "yq": {{".", "a.yaml"}}, "rg": {{"a"}, {"a", "."}}, "unzip": {{"-l", "a.zip"}}, "tar": {{"-tf", "a.tar"}}, "xmllint": {{"a.xml"}},
	"sqlite3": {{"-readonly", "-safe", "a.db", "select 1"}}, "bash": {{"-n", "a.sh"}}, "shellcheck": {{"a.sh"}, {"sub/a.sh"}}, "gofmt": {{"-l", "main.go"}, {"-w", "main.go"}, {"-s", "-l", "-w", "src"}},
	"shfmt":  {{"-w", "a.sh"}, {"-i", "2", "-ci", "-l", "-w", "sub"}},
	"python": {{"--version"}}, "file": {{"a.txt"}}, "man": {{"ls"}}, "ps": {{"aux"}}, "kill": {{"-l"}},
}
