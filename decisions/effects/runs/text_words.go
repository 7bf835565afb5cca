package runs

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/lexpath"
)

// goProxy is where the go command fetches what is not in its cache.
const goProxy = "https://proxy.golang.org"

// goPackage handles a word that names Go packages or source files. Code of the
// project is inherent to a run of the go command in it; code from elsewhere is
// not, and what has a version may have to be fetched, by a name that can carry
// anything to the server it belongs to.
func (v *invocation) goPackage(i int, w effects.Word) {
	if strings.Contains(w.Text, "@") {
		v.changes = true
		v.harm(i)
		e := v.b.Paths.Connect(goProxy, effects.MethodGet, v.at.From)
		e.Via = &effects.Via{Effect: v.index, Arg: effects.Inherent}
		v.b.Add(e)
	}
	file, _ := strings.CutSuffix(w.Text, "...")
	if !strings.HasPrefix(file, ".") && !strings.HasPrefix(file, "/") && !strings.HasSuffix(file, ".go") {
		return
	}
	if e := v.b.Operand(effects.KindRead, file, v.run.Cwd, v.at.From); e.File == nil || !e.Tags.Has(effects.InProject) {
		v.changes = true
		v.harm(i)
		v.b.Add(v.via(i, e))
	}
}

// searchGlob handles a pattern for the names that a search goes into: a plain
// one leaves out all other names, any other brings in names that a search
// leaves out by itself.
func (v *invocation) searchGlob(i int, w effects.Word) {
	if strings.HasPrefix(w.Text, "!") {
		return
	}
	names := Alternatives(path.Base(w.Text))
	if !slices.ContainsFunc(names, func(name string) bool { return name == "" || !v.b.Table.PlainPattern(name) }) {
		v.searchesNoSecrets = true
		return
	}
	v.searchesHidden = true
	if slices.ContainsFunc(names, choosesSecrets) {
		v.unknown(i, "a pattern that chooses files which may hold secrets: "+display.Display(display.ShowWord(&w)))
	}
}

// Alternatives are the patterns that a pattern with one list in braces stands
// for; more than one list is not parsed.
func Alternatives(pattern string) []string {
	head, rest, ok := strings.Cut(pattern, "{")
	list, tail, closed := strings.Cut(rest, "}")
	if !ok || !closed || strings.ContainsAny(list+tail, "{}") {
		return []string{pattern}
	}
	var all []string
	for name := range strings.SplitSeq(list, ",") {
		all = append(all, head+name+tail)
	}
	return all
}

// choosesSecrets reports whether a pattern for names is made for such that hold
// secrets: .env*, *.pem, or hidden names in general.
func choosesSecrets(name string) bool {
	plain := strings.Map(func(c rune) rune {
		if strings.ContainsRune("*?[]{}\\", c) {
			return -1
		}
		return c
	}, name)
	switch {
	case plain == "":
		return false
	case strings.HasPrefix(plain, ".") && plain != name && !strings.HasPrefix(name, "*"):
		return true
	}
	return paths.Guarded.Match(lexpath.Fold("/"+plain), "").Has(effects.Secret) || paths.Guarded.Match(lexpath.Fold("/x"+plain), "").Has(effects.Secret)
}

// plainGoFlags reports whether flags for the go compiler or linker only leave
// things out of a program or set its variables. Others name a linker to run.
func plainGoFlags(flags string) bool {
	if _, rest, ok := strings.Cut(flags, "="); ok && !strings.HasPrefix(flags, "-") {
		flags = rest // for which packages
	}
	value := false
	for flag := range strings.FieldsSeq(flags) {
		switch {
		case value:
			value = false
			if !strings.Contains(flag, "=") || strings.ContainsAny(flag, "'\"") {
				return false
			}
		case flag == "-X":
			value = true
		case strings.HasPrefix(flag, "-X=") && !strings.ContainsAny(flag, "'\""):
		case flag == "-s", flag == "-w", flag == "-N", flag == "-l", flag == "-m", flag == "-m=2", flag == "-buildid=":
		default:
			return false
		}
	}
	return !value
}
