package effects

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// binding is a variable whose value is known where it stands: the text sets it
// once, by a plain assignment that has been walked, and nothing else can.
type binding struct {
	name, value string
	next        *binding
}

// bound returns the value of a variable.
func (at *scope) bound(name string) (string, bool) {
	for b := at.vars; b != nil; b = b.next {
		if b.name == name {
			return b.value, true
		}
	}
	return "", false
}

// bind notes what an assignment that stands alone sets, if that is known.
func (s *shell) bind(a *syntax.Assign, at *scope) {
	name := a.Name.Value
	if !s.once[name] || a.Index != nil || a.Array != nil || a.Append || a.Naked {
		return
	}
	if a.Value == nil {
		at.vars = &binding{name: name, next: at.vars}
		return
	}
	value := s.value(a.Value, s.source(a.Value), at)
	if value.dynamic() || len(value.text) > maxBound {
		// An earlier round of a loop may have left another value.
		for b := at.vars; b != nil; b = b.next {
			if b.name == name {
				at.vars = nil
			}
		}
		return
	}
	at.vars = &binding{name: name, value: value.text, next: at.vars}
}

// maxBound is the longest value that is followed, in bytes.
const maxBound = 4 << 10

// findOnce notes the variables that the text sets at one place only, by a plain
// assignment. It notes none when the text can set variables in ways that are
// not looked into.
func (s *shell) findOnce(file *syntax.File) {
	if !strings.Contains(s.text, "=") {
		return
	}
	count, open := map[string]int{}, false
	var visit func(n syntax.Node) bool
	visit = func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			if n.Body != nil {
				// It runs when it is called, if ever.
				syntax.Walk(n.Body, func(n syntax.Node) bool {
					if a, ok := n.(*syntax.Assign); ok && a.Name != nil {
						count[a.Name.Value] += 2
					}
					return true
				})
				syntax.Walk(n.Body, visit)
			}
			return false
		case *syntax.DeclClause:
			for _, a := range n.Args {
				if a.Name == nil {
					open = true // an option, or a word that is not known
					continue
				}
				count[a.Name.Value] += 2
			}
		case *syntax.CallExpr:
			for _, a := range n.Assigns {
				if len(n.Args) > 0 && a.Name != nil {
					count[a.Name.Value] += 2
				}
			}
			open = open || setsVariables(n, count)
		case *syntax.Assign:
			if n.Name != nil {
				count[n.Name.Value]++
			}
		case *syntax.WordIter:
			count[n.Name.Value] += 2
		case *syntax.ParamExp:
			if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) && n.Param != nil {
				count[n.Param.Value] += 2
			}
			open = open || n.NestedParam != nil
		case *syntax.ArithmExp:
			open = open || !plainArithmetic(n.X)
		case *syntax.ArithmCmd, *syntax.LetClause, *syntax.CoprocClause, *syntax.CStyleLoop:
			open = true
		}
		return !open
	}
	syntax.Walk(file, visit)
	if open {
		return
	}
	for name, n := range count {
		if n == 1 && ordinaryVariable(name) {
			if s.once == nil {
				s.once = map[string]bool{}
			}
			s.once[name] = true
		}
	}
}

// setsVariables counts the variables that a command of the shell's own may set
// by its words. It reports true when those are not known. A command whose name
// is only known when the text is walked may be any of them.
func setsVariables(call *syntax.CallExpr, count map[string]int) bool {
	if len(call.Args) == 0 {
		return false
	}
	name, known := staticWord(call.Args[0])
	switch name {
	case "eval", "source", ".", "trap", "alias", "builtin", "command", "noglob", "nocorrect", "let", "integer", "float", "vared",
		"set", "zparseopts", "zstyle", "zmodload", "emulate", "setopt", "-":
		return true
	case "printf":
		if len(call.Args) < 2 {
			return false
		}
		format, known := staticWord(call.Args[1])
		return !known || strings.HasPrefix(format, "-") || countsInto(format)
	case "read", "mapfile", "readarray", "getopts", "unset", "wait", "print", "declare", "typeset", "local", "export", "readonly":
	default:
		if known {
			return false
		}
	}
	for _, w := range call.Args[1:] {
		text, known := staticWord(w)
		if !known {
			return true
		}
		text, _, _ = strings.Cut(text, "=")
		text, _, _ = strings.Cut(text, "[")
		count[text] += 2
		// The name may stand in the word of its option: wait -pNAME.
		for i := 2; i < len(text) && text[0] == '-'; i++ {
			count[text[i:]] += 2
		}
	}
	return false
}

// staticWord returns the value of a word that has no expansions in it.
func staticWord(w *syntax.Word) (string, bool) {
	var text strings.Builder
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(part.Value, "*?[{~=") {
				return "", false
			}
			unescape(&text, part.Value)
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false
			}
			text.WriteString(part.Value)
		case *syntax.DblQuoted:
			if part.Dollar || len(part.Parts) > 1 {
				return "", false
			}
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				unescapeQuoted(&text, lit.Value, "$`\"\\")
			}
		default:
			return "", false
		}
	}
	return text.String(), true
}

// ordinaryVariable reports whether a shell gives a variable's name no meaning of
// its own, so that it holds what was put into it. zsh ties path, cdpath and the
// like to PATH and its kin.
func ordinaryVariable(name string) bool {
	if specialVariables[name] || strings.HasPrefix(name, "BASH") || strings.HasPrefix(name, "ZSH") || strings.HasPrefix(name, "EPOCH") ||
		strings.HasSuffix(name, "path") || strings.HasPrefix(name, "COMP_") || strings.HasPrefix(name, "KSH") {
		return false
	}
	return name != "" && name != "_"
}

// specialVariables are those that bash or zsh set, calculate or refuse.
var specialVariables = wordSet(`
	RANDOM SRANDOM SECONDS LINENO HISTCMD IFS PATH HOME PWD OLDPWD UID EUID GID EGID PPID GROUPS DIRSTACK FUNCNAME PIPESTATUS
	REPLY OPTIND OPTARG OPTERR COLUMNS LINES SHELLOPTS SHLVL TTY TTYIDLE USERNAME HOSTTYPE MACHTYPE OSTYPE VENDOR CPUTYPE LOGCHECK
	NULLCMD READNULLCMD HOST ERRNO MATCH MBEGIN MEND FIGNORE FPATH CDPATH MANPATH MAILPATH MODULE_PATH PSVAR WATCH HISTCHARS histchars
	argv prompt status pipestatus options commands functions aliases galiases saliases builtins reswords patchars signals history
	historywords match mbegin mend psvar watch fignore dirstack modules parameters terminfo termcap mapfile userdirs nameddirs
	usergroups jobtexts jobdirs jobstates errnos sysparams widgets keymaps keys region_highlight zle_bracketed_paste`)

// echoed returns what echo or printf prints into a substitution, when all of it
// is known and every shell prints the same.
func (s *shell) echoed(name string, args []*syntax.Word, at *scope) (string, bool) {
	words := make([]string, 0, len(args))
	for _, w := range args {
		value := s.value(w, "", at)
		if value.dynamic() || value.glob || hasBraces(w) || len(value.text) > maxBound {
			return "", false
		}
		words = append(words, value.text)
	}
	if name == "printf" {
		return formatted(words)
	}
	if len(words) > 0 && words[0] == "-n" {
		words = words[1:] // a last newline is cut off anyway
	}
	text := strings.Join(words, " ")
	if len(words) > 0 && strings.HasPrefix(words[0], "-") || strings.Contains(text, "\\") {
		return "", false // options, and escapes that some shells decode
	}
	return strings.TrimRight(text, "\n"), true
}

// formatted is what printf prints, for formats of text and %s alone.
func formatted(words []string) (string, bool) {
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		return "", false
	}
	format, ok := ansiC(words[0])
	if !ok || strings.ContainsAny(words[0], "\"'?") && strings.Contains(words[0], "\\") {
		return "", false
	}
	args, out := words[1:], ""
	if strings.Count(strings.ReplaceAll(format, "%%", ""), "%") != len(args) {
		return "", false // the format is used again, or arguments are missing
	}
	for {
		before, rest, found := strings.Cut(format, "%")
		out += before
		switch {
		case !found:
			return strings.TrimRight(out, "\n"), true
		case strings.HasPrefix(rest, "%"):
			out += "%"
		case strings.HasPrefix(rest, "s") && len(args) > 0:
			out, args = out+args[0], args[1:]
		default:
			return "", false
		}
		format = rest[1:]
	}
}

// splitName returns the words of a command's name that stands in one expansion,
// as bash splits it; none when they are not known. zsh takes it for one name,
// which then hardly is a program.
func (s *shell) splitName(w *syntax.Word, at *scope) []word {
	if len(w.Parts) != 1 || s.sets("IFS") {
		return nil
	}
	var value string
	var ok bool
	switch part := w.Parts[0].(type) {
	case *syntax.ParamExp:
		value, ok = s.variable(part, at)
	case *syntax.CmdSubst:
		value, ok = s.printed(part, at)
	}
	if !ok || !strings.ContainsAny(value, " \t\n") || strings.ContainsAny(value, "*?[\\") {
		return nil
	}
	var words []word
	for field := range strings.FieldsSeq(value) {
		words = append(words, literalWord(field))
	}
	return words
}
