package plainshell

import "strings"

// specialBuiltins are builtins after which a POSIX shell keeps preceding assignments.
var specialBuiltins = map[string]bool{
	":": true, ".": true, "break": true, "continue": true, "eval": true, "exec": true, "exit": true, "export": true,
	"readonly": true, "return": true, "set": true, "shift": true, "source": true, "times": true, "trap": true, "unset": true,
}

// checkName checks a simple command by its first word: the name must be literal, and if the
// shell runs it itself, all shells must do the same with its words.
func (r *reader) checkName(words []word, assigned, ifs bool) bool {
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
	if ownCommands()[name]&r.shells == 0 {
		return true
	}
	if assigned && specialBuiltins[name] {
		return r.refuse(Assignment, at, "an assignment before "+name+", which some shells keep")
	}
	form := portableForms[name]
	if form == nil || name != "[" && reserved()[name]&r.shells != 0 && name != "export" {
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

// portableForms are builtins that all shells run alike if their operands have a certain form, which
// the function checks. Output and exit status can still differ.
var portableForms = map[string]func(r *reader, args []word) bool{
	":": anything, "true": anything, "false": anything, "echo": anything,
	"kill": anything, "which": findsCommands, "type": findsCommands,
	"pwd": func(r *reader, args []word) bool {
		return len(args) == 0 || len(args) == 1 && (r.is(args[0], "-P") || r.is(args[0], "-L"))
	},
	"cd": cdForm,
	"[": func(r *reader, args []word) bool {
		return len(args) > 0 && r.text[args[len(args)-1].start:args[len(args)-1].end] == "]" && posixTest(r, args[:len(args)-1])
	},
	"test": posixTest, "printf": printfForm, "read": readForm, "set": setForm, "export": exportForm,
	"exit": optionalNumber, "break": optionalNumber, "continue": optionalNumber, "wait": jobNumbers, "umask": optionalNumber,
	"command": commandForm,
	"pushd": func(r *reader, args []word) bool {
		return r.shells.within(Bash|Zsh) && len(args) == 1 && cdForm(r, args)
	},
	"popd":   func(r *reader, args []word) bool { return r.shells.within(Bash|Zsh) && len(args) == 0 },
	".":      sourceForm,
	"source": func(r *reader, args []word) bool { return r.shells.within(Bash|Zsh) && sourceForm(r, args) },
}

func (r *reader) is(w word, text string) bool {
	value, ok := r.literal(w)
	return ok && value == text
}

func anything(*reader, []word) bool { return true }

// unsplit: no operand is split into several words.
func unsplit(_ *reader, args []word) bool {
	for _, w := range args {
		if w.has&(hasOpen|hasPattern) != 0 {
			return false
		}
	}
	return true
}

// namesOnly: only names.
func namesOnly(r *reader, args []word) bool {
	for _, w := range args {
		if text, ok := r.literal(w); !ok || text == "" || text[0] == '-' {
			return false
		}
	}
	return len(args) > 0
}

// findsCommands: only names, or -a and names.
func findsCommands(r *reader, args []word) bool {
	if len(args) > 0 && r.is(args[0], "-a") {
		args = args[1:]
	}
	return namesOnly(r, args)
}

// optionalNumber: at most one, in digits, or a plain $?. zsh evaluates anything else.
func optionalNumber(r *reader, args []word) bool {
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

// jobNumbers: numbers of processes or of jobs.
func jobNumbers(r *reader, args []word) bool {
	for _, w := range args {
		if text, ok := r.literal(w); !ok || !digits(strings.TrimPrefix(text, "%")) {
			return false
		}
	}
	return true
}

// cdForm: at most one operand. To zsh, -1 and +1 are entries of its stack of folders,
// and two operands replace text in the folder's name.
func cdForm(r *reader, args []word) bool {
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

// posixTest: one of the POSIX forms, of operands that are not split. Numbers are literal, because
// zsh evaluates them.
func posixTest(r *reader, args []word) bool {
	if !unsplit(r, args) {
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

// commandForm: -v and names, or the command of a program.
func commandForm(r *reader, args []word) bool {
	if len(args) == 0 {
		return false
	}
	name, ok := r.literal(args[0])
	if name == "-v" || name == "-V" {
		return namesOnly(r, args[1:])
	}
	return ok && name != "" && name[0] != '-' && ownCommands()[name] == 0
}

// printfForm: a literal format, and numbers that no shell evaluates.
func printfForm(r *reader, args []word) bool {
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

// readForm: -r and names of variables without a special meaning to a shell.
func readForm(r *reader, args []word) bool {
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

// setForm: only options that make the shell exit earlier or print what it does.
func setForm(r *reader, args []word) bool {
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

// exportForm: NAME=text without unquoted expansions, or NAME.
func exportForm(r *reader, args []word) bool {
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

// sourceForm: one file by a path, so that no shell searches for it.
func sourceForm(r *reader, args []word) bool {
	if len(args) != 1 || args[0].has&(hasOpen|hasPattern) != 0 {
		return false
	}
	return args[0].has&hasExpansion != 0 || strings.Contains(r.value(args[0]), "/")
}
