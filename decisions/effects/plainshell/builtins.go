package plainshell

import "strings"

// specialBuiltins are builtins after which a POSIX shell keeps preceding assignments.
var specialBuiltins = map[string]bool{
	":": true, ".": true, "break": true, "continue": true, "eval": true, "exec": true, "exit": true, "export": true,
	"readonly": true, "return": true, "set": true, "shift": true, "source": true, "times": true, "trap": true, "unset": true,
}

// named checks a simple command by its first word: the name must be literal, and if the
// shell runs it itself, all shells must do the same with its words.
func (r *reader) named(words []word, assigned, ifs bool) bool {
	at := words[0].start
	if words[0].has&(hasExpansion|hasPattern) != 0 {
		return r.refuse(FirstWord, at, "a command whose name is not known before it runs")
	}
	name := r.value(words[0])
	if name == "" || strings.IndexByte("%^-+=#", name[0]) >= 0 {
		return r.refuse(FirstWord, at, "a command of such a name")
	}
	if ifs && name != "read" {
		return r.refuse(SpecialName, at, "the variable IFS")
	}
	if own[name]&r.shells == 0 {
		return true
	}
	if assigned && specialBuiltins[name] {
		return r.refuse(Assignment, at, "an assignment before "+name+", which some shells keep")
	}
	form := forms[name]
	if form == nil || name != "[" && reserved[name]&r.shells != 0 && name != "export" {
		return r.refuse(Builtin, at, name+", which is no program in every shell")
	}
	if !form(r, words[1:]) {
		return r.refuse(Builtin, at, name+" with such words")
	}
	return true
}

// value returns a word without its quotes; it contains no expansion.
func (r *reader) value(w word) string {
	text := r.text[w.start:w.end]
	if w.has&hasQuotes == 0 {
		return text
	}
	var out strings.Builder
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && (quote == 0 || strings.IndexByte("$`\"\\", text[i+1]) >= 0):
			i++
			out.WriteByte(text[i])
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// literal returns the value of a word without expansions.
func (r *reader) literal(w word) (string, bool) {
	if w.has&(hasExpansion|hasPattern) != 0 || r.text[w.start] == '~' {
		return "", false
	}
	return r.value(w), true
}

// forms are builtins that all shells run alike if their operands have a certain form, which
// the function checks. Output and exit status can still differ.
var forms = map[string]func(r *reader, args []word) bool{
	":": anything, "true": anything, "false": anything, "echo": anything,
	"kill": anything, "which": finds, "type": finds,
	"pwd": func(r *reader, args []word) bool {
		return len(args) == 0 || len(args) == 1 && (r.is(args[0], "-P") || r.is(args[0], "-L"))
	},
	"cd": changesFolder,
	"[": func(r *reader, args []word) bool {
		return len(args) > 0 && r.text[args[len(args)-1].start:args[len(args)-1].end] == "]" && tests(r, args[:len(args)-1])
	},
	"test": tests, "printf": prints, "read": reads, "set": sets, "export": exports,
	"exit": numbers, "break": numbers, "continue": numbers, "wait": jobs, "umask": numbers,
	"command": runs,
	"pushd": func(r *reader, args []word) bool {
		return r.shells.within(Bash|Zsh) && len(args) == 1 && changesFolder(r, args)
	},
	"popd":   func(r *reader, args []word) bool { return r.shells.within(Bash|Zsh) && len(args) == 0 },
	".":      sources,
	"source": func(r *reader, args []word) bool { return r.shells.within(Bash|Zsh) && sources(r, args) },
}

func (r *reader) is(w word, text string) bool {
	value, ok := r.literal(w)
	return ok && value == text
}

func anything(*reader, []word) bool { return true }

// quoted: no operand is split into several words.
func quoted(_ *reader, args []word) bool {
	for _, w := range args {
		if w.has&(hasOpen|hasPattern) != 0 {
			return false
		}
	}
	return true
}

// literals: only names.
func literals(r *reader, args []word) bool {
	for _, w := range args {
		if text, ok := r.literal(w); !ok || text == "" || text[0] == '-' {
			return false
		}
	}
	return len(args) > 0
}

// finds: only names, or -a and names.
func finds(r *reader, args []word) bool {
	if len(args) > 0 && r.is(args[0], "-a") {
		args = args[1:]
	}
	return literals(r, args)
}

// numbers: at most one, in digits, or a plain $?. zsh evaluates anything else.
func numbers(r *reader, args []word) bool {
	return len(args) == 0 || len(args) == 1 && r.number(args[0])
}

func (r *reader) number(w word) bool {
	switch r.text[w.start:w.end] {
	case "$?", `"$?"`:
		return true
	}
	text, ok := r.literal(w)
	return ok && digits(text)
}

func digits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// jobs: numbers of processes or of jobs.
func jobs(r *reader, args []word) bool {
	for _, w := range args {
		if text, ok := r.literal(w); !ok || !digits(strings.TrimPrefix(text, "%")) {
			return false
		}
	}
	return true
}

// changesFolder: at most one operand. To zsh, -1 and +1 are entries of its stack of folders,
// and two operands replace text in the folder's name.
func changesFolder(r *reader, args []word) bool {
	if len(args) == 2 && r.is(args[0], "--") {
		args = args[1:]
	}
	if len(args) != 1 {
		return len(args) == 0
	}
	if args[0].has&hasPattern != 0 {
		return false
	}
	text := r.text[args[0].start:args[0].end]
	if args[0].has&hasExpansion == 0 {
		text = r.value(args[0])
	}
	return text == "-" || text == "" || text[0] != '-' && text[0] != '+'
}

// tests: one of the POSIX forms, of operands that are not split. Numbers are literal, because
// zsh evaluates them.
func tests(r *reader, args []word) bool {
	if !quoted(r, args) {
		return false
	}
	if len(args) > 1 && r.is(args[0], "!") {
		args = args[1:]
	}
	switch len(args) {
	case 1:
		return true
	case 2:
		op, ok := r.literal(args[0])
		return ok && len(op) == 2 && op[0] == '-' && strings.IndexByte("bcdefghLnprSsuwxz", op[1]) >= 0
	case 3:
		switch op, _ := r.literal(args[1]); op {
		case "=", "!=":
			return true
		case "==":
			return r.shells.within(Bash)
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			return r.shells.within(Bash|Sh) || r.number(args[0]) && r.number(args[2])
		case "-nt", "-ot", "-ef":
			return true
		}
	}
	return false
}

// runs: -v and names, or the command of a program.
func runs(r *reader, args []word) bool {
	if len(args) == 0 {
		return false
	}
	name, ok := r.literal(args[0])
	if name == "-v" || name == "-V" {
		return literals(r, args[1:])
	}
	return ok && name != "" && name[0] != '-' && own[name] == 0
}

// prints: a literal format, and numbers that no shell evaluates.
func prints(r *reader, args []word) bool {
	if len(args) > 0 && r.is(args[0], "--") {
		args = args[1:]
	}
	if len(args) == 0 {
		return false
	}
	format, ok := r.literal(args[0])
	if !ok || strings.HasPrefix(format, "-") {
		return false
	}
	for {
		_, rest, found := strings.Cut(format, "%")
		if !found {
			return true
		}
		rest = strings.TrimLeft(rest, "-+ #0123456789.")
		switch {
		case rest == "":
			return false
		case strings.IndexByte("%sbc", rest[0]) >= 0:
		case strings.IndexByte("diouxX", rest[0]) >= 0:
			for _, w := range args[1:] {
				if text, ok := r.literal(w); !ok || strings.ContainsAny(text, "[$`") || text == "" || nameAt(text) > 0 {
					return false
				}
			}
		default:
			return false
		}
		format = rest[1:]
	}
}

// reads: -r and names of variables without a special meaning to a shell.
func reads(r *reader, args []word) bool {
	names := 0
	for i, w := range args {
		text, ok := r.literal(w)
		switch {
		case ok && i == 0 && text == "-r":
		case ok && isName(text) && !special(text):
			names++
		default:
			return false
		}
	}
	return names > 0
}

// sets: only options that make the shell exit earlier or print what it does.
func sets(r *reader, args []word) bool {
	for i := 0; i < len(args); i++ {
		text, ok := r.literal(args[i])
		if !ok || len(text) < 2 || text[0] != '-' && text[0] != '+' {
			return false
		}
		letters, named := strings.CutSuffix(text[1:], "o")
		if strings.Trim(letters, "eux") != "" {
			return false
		}
		if named {
			if i++; i >= len(args) {
				return false
			}
			switch option, _ := r.literal(args[i]); option {
			case "errexit", "nounset", "pipefail", "xtrace":
			default:
				return false
			}
		}
	}
	return len(args) > 0
}

// exports: NAME=text without unquoted expansions, or NAME.
func exports(r *reader, args []word) bool {
	for _, w := range args {
		text := r.text[w.start:w.end]
		n := nameAt(text)
		name := text[:n]
		if n == 0 || n < len(text) && text[n] != '=' || w.has&(hasOpen|hasPattern) != 0 ||
			special(name) && !harmlessSpecial[name] {
			return false
		}
	}
	return len(args) > 0
}

// sources: one file by a path, so that no shell searches for it.
func sources(r *reader, args []word) bool {
	if len(args) != 1 || args[0].has&(hasOpen|hasPattern) != 0 {
		return false
	}
	return args[0].has&hasExpansion != 0 || strings.Contains(r.value(args[0]), "/")
}
