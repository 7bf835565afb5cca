//go:build linux

package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/permd/permd/bench/shipped"
)

// described is a program or sub-command of the program table, with all its options.
type described struct {
	shipped.Entry

	words   []string // the program and its sub-commands
	options []option
}

// option is one spelling of an option with its suffix ("=" and the like), and its
// role.
type option struct{ spelling, kind string }

// traceable are the programs of the table whose real program runs under strace.
// Each is one file that starts no other program.
var traceable = []string{
	"cat", "ls", "wc", "head", "tail", "grep", "sort", "uniq", "cut", "tr", "nl", "basename", "dirname", "seq", "date", "git", "stat", "awk", "gawk", "mawk", "sed", "rg", "jq", "tree", "file",
	"diff", "cmp", "comm", "tac", "rev", "fold", "od", "tee", "find", "paste", "join", "expand", "cksum", "md5sum", "sha1sum", "sha256sum", "b2sum", "du", "realpath", "readlink", "xxd",
	"hexdump", "base64", "base32", "strings", "nm", "objdump", "readelf", "column", "iconv", "tar", "unzip", "zip", "gzip", "bzip2", "xz", "zstd", "zipinfo", "rm", "rmdir", "mkdir", "touch",
	"cp", "mv", "ln", "mktemp", "split", "truncate", "install", "patch", "dd", "expr", "test", "printf", "sqlite3", "unlink", "shuf", "pr", "tsort", "vdir", "dir", "sum",
}

// readTable reads the table's entries for traceable, each sub-command by itself.
func readTable() ([]described, error) {
	whole, err := shipped.ReadTable()
	if err != nil {
		return nil, err
	}
	var table []described
	var flat func(e shipped.Entry, words, below []string)
	flat = func(e shipped.Entry, words, below []string) {
		d := described{Entry: e, words: words}
		below = append(slices.Clip(below), d.IncludeBelow...)
		lists := []map[string][]string{d.Options}
		for _, group := range slices.Concat(d.Include, below) {
			lists = append(lists, whole.Groups[group])
		}
		for _, list := range lists {
			for _, kind := range slices.Sorted(maps.Keys(list)) {
				for _, line := range list[kind] {
					spelled := strings.Fields(line)
					for _, s := range spelled {
						// The suffix of the last spelling tells what the option takes.
						last := spelled[len(spelled)-1]
						d.options = append(d.options, option{strings.TrimRight(s, "=[]") + last[len(strings.TrimRight(last, "=[]")):], kind})
					}
				}
			}
		}
		table = append(table, d)
		for _, sub := range d.Sub {
			if !strings.Contains(sub.Names[0], "*") {
				flat(sub, append(slices.Clip(words), sub.Names[0]), below)
			}
		}
	}
	for _, d := range whole.Programs {
		for _, name := range d.Names {
			if slices.Contains(traceable, name) {
				flat(d, []string{name}, nil)
			}
		}
	}
	return table, nil
}

// endless are options with which a program does not end by itself.
var endless = []string{"-f", "-F", "--follow", "--retry", "--pid", "-s", "--sleep-interval"}

// optioned returns a command that calls a program of the table with random options
// and operands.
func (g *grammar) optioned() string {
	d := &g.table[g.IntN(len(g.table))]
	if g.chance(70) { // git, which has many sub-commands, is as frequent as all others together
		for d.words[0] == "git" {
			d = &g.table[g.IntN(len(g.table))]
		}
	}
	words := slices.Clone(d.words)
	for range g.of(3, 5, 4, 2) {
		if len(d.options) == 0 {
			break
		}
		o := d.options[g.IntN(len(d.options))]
		if g.chance(70) && !slices.Contains([]string{"harmless", "text", "reads", "lists", "loads", "sources", "globs"}, o.kind) {
			o = d.options[g.IntN(len(d.options))]
		}
		if d.words[0] == "tail" && slices.Contains(endless, strings.TrimRight(o.spelling, "=[]")) {
			continue
		}
		words = append(words, g.given(o))
	}
	if g.chance(8) {
		words = append(words, "--")
	}
	some := g.of(3, 4, 2)
	for i := range max(some, len(d.Operands)) {
		if i >= len(d.Operands) && i >= some {
			break
		}
		kind := ""
		if n := len(d.Operands); n > 0 {
			kind, _, _ = strings.Cut(strings.TrimSuffix(d.Operands[min(i, n-1)], "..."), " ")
			kind = strings.TrimSuffix(kind, "...")
		}
		words = append(words, g.operand(kind))
	}
	if g.chance(10) && len(words) > 2 { // options may follow operands
		at, to := 1+g.IntN(len(words)-1), 1+g.IntN(len(words)-1)
		words[at], words[to] = words[to], words[at]
	}
	if (words[0] == "test" || words[0] == "expr") && len(words) < 2 {
		words = append(words, "a.txt")
	}
	text := strings.Join(words, " ")
	if words[0] == "git" && g.chance(40) { // some git commands start at the top of the repository
		return g.pick("cd src && ", "cd src/deep; ", "cd d; ", "cd docs && ") + text
	}
	return text
}

// given returns an option with a value, as a text may spell it.
func (g *grammar) given(o option) string {
	name := strings.TrimRight(o.spelling, "=[]")
	var value string
	switch takes := o.spelling[len(name):]; {
	case takes == "==":
		return name + " " + g.valueOf(o.kind) + " " + g.valueOf(o.kind)
	case takes == "" && g.chance(95), takes == "[=]" && g.chance(50):
		if strings.HasPrefix(name, "--") && g.chance(8) && len(name) > 5 {
			name = name[:4+g.IntN(len(name)-4)] // an abbreviation
		}
		return name
	default:
		value = g.valueOf(o.kind)
	}
	if strings.HasPrefix(name, "--") {
		if o.spelling[len(name):] != "[=]" && g.chance(30) {
			return name + " " + value
		}
		return name + "=" + value
	}
	return name + g.pick("", " ", " ") + value
}

// valueOf returns a value for an option, by role.
func (g *grammar) valueOf(role string) string {
	switch role {
	case "harmless", "text", "plain", "number":
		return g.pick("1", "2", "a", "x", "0", "never", "always", "auto", "name", "none", "all", "'*.txt'", "json", "c", ".", "size", "time", "full", g.place())
	}
	return g.operand(role)
}

// operand returns an operand, by role.
func (g *grammar) operand(role string) string {
	if value, ok := operandValues[role]; ok {
		return value(g)
	}
	return g.place()
}

// operandValues are the operands of roles that are no places. Each role of the
// program table is here or in placeRoles.
var operandValues = map[string]func(*grammar) string{
	"":     plainText,
	"text": plainText,
	"sed": func(g *grammar) string {
		return g.pick("-n p", "p", "s/a/b/", "1d", "$=", "'$p'", "'w out'", "r", "'R a.txt'", "F")
	},
	"awk": func(g *grammar) string {
		return g.pick("1", "'{print $1}'", "'END{print NR}'", "'{print FILENAME}'", "'BEGIN{print 1}'", "'{print NF}'")
	},
	"jq": func(g *grammar) string {
		return g.pick(".", ".a", "'.a[]'", "keys", "length", "input", "inputs", "input_filename", "'$__prog_args'", "-n", "env")
	},
	"sql": func(g *grammar) string { return g.pick("'select 1'", ".tables", ".schema") },
	"ref": func(g *grammar) string {
		return g.pick("HEAD", "main", "HEAD~1", "HEAD:a.txt", "main..HEAD", "HEAD -- a.txt", "-- "+g.place(), "a.txt", "HEAD:"+"src", ":a.txt", "HEAD:nosuch", g.place())
	},
	"format": func(g *grammar) string { return g.pick("+%F", "+%s") },
	"suffix": func(g *grammar) string { return g.pick(".bak", "~", "'x/*'", "'*.o'", "../x", "/*") },
}

func plainText(g *grammar) string { return g.pick("a", "x", "'^a'", "1", "2", "+%F", ".", g.place()) }

// placeRoles are given a path: because they take one, or because a word that is none
// of theirs tells as much about how the program takes it.
var placeRoles = []string{
	"archive", "begins", "chdir", "copies", "copies_into", "database", "deletes", "from_top", "globs", "into", "link", "lists", "loads", "makes", "matched",
	"mount", "moves", "name", "object", "packs", "reads", "sources", "unpack_to", "viewed", "writes",

	"assigns", "changes", "charset", "columns", "command", "connects", "data", "download", "endpoint", "executes", "field", "form", "git_config", "git_format",
	"git_sort", "go_flags", "guarded_text", "harmless", "host", "image", "inline", "make_target", "method", "module", "number", "package", "package_spec", "plain",
	"refspec", "remote", "repository", "runner_words", "script", "sends", "server_sql", "socket", "target", "tool", "types", "unfetched", "unknown", "yq",
}

// place returns a path: a file, a folder, a link of each kind, one that does not
// exist, one that looks like an option, or a pattern.
func (g *grammar) place() string {
	if g.chance(55) {
		return g.pick("a.txt", "b.txt", "src", ".", "l.file", "l.dir", "d", "docs", "n.txt", "src/a.txt", "j.json", "sub", "list", "g.txt.gz", "t.tar", "new")
	}
	return g.pick("l.gone", "l.out", "l.shadow", "l.env", "l.abs", "l.loop", "l.up", "l.new", "src/l.out", "src/l.file", "docs/l.shadow", "docs/sh.sh", "l.dir/a.txt", "l.dir/..", "l.dir/../a.txt", "l.out/a.txt", "l.abs/deep", "t.tgz", "t.zip", "nosuch",
		"nosuch/x", "-", "./-n", "'x y'", "*.txt", "l.*", "*", "./*", "src/*", "d/*", "?.txt", "*/a.txt", "src/.", "./src/", "l.dir/", "..", "../project/a.txt", ".git", ".git/config", "sub/.git", "list0", "docs/index.md", "\"$PWD\"/a.txt", "~/project/a.txt", "/dev/null", "{}", "src/deep", "evil.sh", "evi?.sh",
		"[ab].txt", "l.[fd]*", "new/deep", "d/new", "out.txt")
}
