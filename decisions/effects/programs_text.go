package effects

import (
	"path"
	"slices"
	"strings"
)

// goProxy is where the go command fetches what is not in its cache.
const goProxy = "https://proxy.golang.org"

// goPackage handles a word that names Go packages or source files. Code of the
// project is inherent to a run of the go command in it; code from elsewhere is
// not, and what has a version may have to be fetched, by a name that can carry
// anything to the server it belongs to.
func (v *invocation) goPackage(i int, w word) {
	if strings.Contains(w.text, "@") {
		v.changes = true
		v.harm(i)
		e := v.b.res.connect(goProxy, MethodGet, v.at.from)
		e.Via = &Via{Effect: v.index, Arg: Inherent}
		v.b.add(e)
	}
	file, _ := strings.CutSuffix(w.text, "...")
	if !strings.HasPrefix(file, ".") && !strings.HasPrefix(file, "/") && !strings.HasSuffix(file, ".go") {
		return
	}
	if e := v.b.operand(KindRead, file, v.run.Cwd, v.at.from); e.File == nil || !e.Tags.Has(InProject) {
		v.changes = true
		v.harm(i)
		v.b.add(v.via(i, e))
	}
}

// searchGlob handles a pattern for the names that a search goes into: a plain
// one leaves out all other names, any other brings in names that a search
// leaves out by itself.
func (v *invocation) searchGlob(i int, w word) {
	if strings.HasPrefix(w.text, "!") {
		return
	}
	names := alternatives(path.Base(w.text))
	if !slices.ContainsFunc(names, func(name string) bool { return name == "" || !v.b.w.Table.plainPattern(name) }) {
		v.narrow = true
		return
	}
	v.wide = true
	if slices.ContainsFunc(names, choosesSecrets) {
		v.unknown(i, "a pattern that chooses files which may hold secrets: "+Display(w.show()))
	}
}

// alternatives are the patterns that a pattern with one list in braces stands
// for; more than one list is not taken apart.
func alternatives(pattern string) []string {
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
	return guarded.match(fold("/"+plain), "").Has(Secret) || guarded.match(fold("/x"+plain), "").Has(Secret)
}

// checksSignatures reports whether a format of git's has a part for which git
// runs gpg or its like: %G? and its kin of log, %(signature) of for-each-ref.
func checksSignatures(format string) bool {
	for rest := format; ; {
		_, after, ok := strings.Cut(rest, "%")
		if !ok {
			return false
		}
		if strings.HasPrefix(strings.TrimLeft(after, "+- "), "G") || strings.HasPrefix(after, "(signature") || strings.HasPrefix(after, "(*signature") {
			return true
		}
		rest = after
	}
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

// plainAwk reports whether an awk program only computes from its operands and
// prints: it has no pipe, redirection, getline, command or include, and does
// not change which files are read. The words are looked for anywhere, strings
// and comments included.
func plainAwk(program string) bool {
	for _, word := range []string{"system", "getline", "ARGV", "ARGC", "ARGIND", "SYMTAB", "FUNCTAB", "PROCINFO", "ENVIRON"} {
		if strings.Contains(program, word) {
			return false
		}
	}
	if strings.Contains(program, "@") {
		return false
	}
	program = strings.ReplaceAll(program, "||", "")
	bare := false
	if !strings.Contains(program, "/") {
		// Without a regular expression, quotes can only be those of strings.
		program, bare = withoutStrings(program)
	}
	// Nothing is printed before the first brace: there, > compares. >= compares
	// everywhere.
	_, action, _ := strings.Cut(program, "{")
	action = strings.ReplaceAll(action, ">=", "")
	if bare {
		action = withoutComparisons(action)
	}
	return !strings.ContainsAny(action, "|>")
}

// withoutStrings leaves the strings in double quotes out of a text. It is false
// for a text with quotes that no string has, such as those of a comment.
func withoutStrings(text string) (string, bool) {
	var out strings.Builder
	inside := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inside && c == '\\':
			i++
		case inside && c == '\n':
			return text, false
		case c == '"':
			inside = !inside
		case !inside:
			out.WriteByte(c)
		}
	}
	return out.String(), !inside
}

// withoutComparisons leaves out each > within parentheses of an awk program
// without strings and regular expressions: there it compares, unless a statement
// stands there that prints, as one may in for (…;…;…).
func withoutComparisons(action string) string {
	if strings.ContainsAny(action, "#\\") {
		return action // a comment may hold parentheses
	}
	var out strings.Builder
	depth, outer, printed := 0, 0, -1
	for i := 0; i < len(action); i++ {
		c := action[i]
		switch {
		case c == '(':
			if depth++; depth == 1 {
				outer = i
			}
		case c == ')':
			depth = max(0, depth-1)
		case c == 'p' && strings.HasPrefix(action[i:], "print"):
			printed = i
		case c == '>' && depth > 0 && printed < outer:
			continue
		}
		out.WriteByte(c)
	}
	return out.String()
}
