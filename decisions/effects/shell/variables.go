package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/wordset"
)

// newValue returns what an assignment without a command sets, if that is known. It is read
// before the assignment: the value may hold that of the same variable (n=$((n+1))).
func (s *walker) newValue(a *syntax.Assign, at *scope) (string, bool) {
	if a.Index != nil || a.Array != nil || a.Append || a.Naked {
		return "", false
	}
	value := effects.Word{}
	if a.Value != nil {
		value = s.value(a.Value, s.source(a.Value), at)
	}
	return value.Text, !value.Dynamic()
}

// set records the value of an ordinary variable: neither the shell nor a declaration of
// the text gives it a special meaning.
func (s *walker) set(name, value string, at *scope) { s.setNames(name, value, "", at) }

// setNames records that the value of a variable is one of the names that a pattern matches
// in the folder glob, or the pattern itself.
func (s *walker) setNames(name, value, glob string, at *scope) {
	if s.declared[name] || s.anyAssigned || !ordinaryVariable(name) || len(value) > maxBound {
		at.unbind(name)
		return
	}
	at.bind(name, value, glob)
}

// declareName records that a variable may be an integer, read-only or a reference from
// now on, so that an assignment may do something else.
func (s *walker) declareName(name string, at *scope) {
	s.assign(name, at)
	if s.declared == nil {
		s.declared = map[string]bool{}
	}
	if !s.declared[name] {
		s.declared[name] = true
		s.definitions++
	}
}

// maxBound is the longest value that is tracked, in bytes.
const maxBound = 4 << 10

// variableSetters are shell commands that set variables in ways that are not
// analysed.
var variableSetters = wordset.Fields(`
	let integer float vared zparseopts zstyle zmodload emulate setopt unsetopt shopt print getln sysread zsystem zselect zstat stat
	strftime zcurses zformat zregexparse autoload functions foreach select repeat private nameref`)

// ordinaryVariable reports whether a variable's name has no special meaning to a shell, so
// that it keeps the value assigned to it. zsh ties path, cdpath and others to PATH and so
// on.
func ordinaryVariable(name string) bool {
	if specialVariables.Has(name) || strings.HasPrefix(name, "BASH") || strings.HasPrefix(name, "ZSH") || strings.HasPrefix(name, "EPOCH") ||
		strings.HasSuffix(name, "path") || strings.HasPrefix(name, "COMP_") || strings.HasPrefix(name, "KSH") {
		return false
	}
	return name != "" && name != "_"
}

// specialVariables are those that bash or zsh set, compute or reject.
var specialVariables = wordset.Fields(`
	RANDOM SRANDOM SECONDS LINENO HISTCMD IFS PATH HOME PWD OLDPWD UID EUID GID EGID PPID GROUPS DIRSTACK FUNCNAME PIPESTATUS
	REPLY OPTIND OPTARG OPTERR COLUMNS LINES SHELLOPTS SHLVL TTY TTYIDLE USERNAME HOSTTYPE MACHTYPE OSTYPE VENDOR CPUTYPE LOGCHECK
	NULLCMD READNULLCMD HOST ERRNO MATCH MBEGIN MEND FIGNORE FPATH CDPATH MANPATH MAILPATH MODULE_PATH PSVAR WATCH HISTCHARS histchars
	argv prompt status pipestatus options commands functions aliases galiases saliases builtins reswords patchars signals history
	historywords match mbegin mend psvar watch fignore dirstack modules parameters terminfo termcap mapfile userdirs nameddirs
	usergroups jobtexts jobdirs jobstates errnos sysparams widgets keymaps keys region_highlight zle_bracketed_paste`)

// echoOutput returns what echo or printf prints into a substitution, if all of it is known
// and every shell prints the same.
func (s *walker) echoOutput(name string, args []*syntax.Word, at *scope) (string, bool) {
	words := make([]string, 0, len(args))
	for _, w := range args {
		value := s.value(w, "", at)
		if value.Dynamic() || value.Glob || hasBraces(w) || len(value.Text) > maxBound {
			return "", false
		}
		words = append(words, value.Text)
	}
	if name == "printf" {
		return printfOutput(words)
	}
	if len(words) > 0 && words[0] == "-n" {
		words = words[1:] // trailing newlines are removed anyway
	}
	text := strings.Join(words, " ")
	if len(words) > 0 && strings.HasPrefix(words[0], "-") || strings.Contains(text, "\\") {
		return "", false // options, and escapes that some shells decode
	}
	return strings.TrimRight(text, "\n"), true
}

// printfOutput returns the output of printf, for formats of text and %s only.
func printfOutput(words []string) (string, bool) {
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		return "", false
	}
	format, ok := ansiC(words[0])
	if !ok || strings.ContainsAny(words[0], "\"'?") && strings.Contains(words[0], "\\") {
		return "", false
	}
	args, out := words[1:], ""
	if strings.Count(strings.ReplaceAll(format, "%%", ""), "%") != len(args) {
		return "", false // the format is reused, or arguments are missing
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

// splitName returns the words of a command's name that is one expansion, as bash splits
// it; none if they are not known. zsh takes it for one name, which is hardly a
// program.
func (s *walker) splitName(w *syntax.Word, at *scope) []effects.Word {
	if len(w.Parts) != 1 || s.maySet("IFS") {
		return nil
	}
	var value string
	var ok bool
	switch part := w.Parts[0].(type) {
	case *syntax.ParamExp:
		value, ok = s.variable(part, at)
	case *syntax.CmdSubst:
		value, ok = s.catHereDocument(part, at)
	}
	if !ok || !strings.ContainsAny(value, " \t\n") || strings.ContainsAny(value, "*?[\\") {
		return nil
	}
	var words []effects.Word
	for field := range strings.FieldsSeq(value) {
		words = append(words, effects.LiteralWord(field))
	}
	return words
}
