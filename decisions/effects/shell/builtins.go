package shell

import (
	"strconv"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/runs"
)

// builtin handles the commands that the shell runs itself and that a program table
// cannot describe; it returns false for any other command.
func (s *walker) builtin(words []effects.Word, at scope, in runs.Input) (exitScopes, bool) {
	name, args := words[0].Text, words[1:]
	switch name {
	case "cd":
		return s.cd(args, at), true
	case "chdir": // which bash does not have
		out := s.cd(args, at)
		return exitScopes{out.success, join(out.failure, at)}, true
	case "pushd":
		return s.pushd(args, at), true
	case "popd":
		return s.popd(args, at), true
	case "exec":
		s.state("replaces the shell or its descriptors", display.ShowWords(words))
		if args = execArguments(args); len(args) > 0 {
			return s.simple(args, at, in), true
		}
		return bothExits(at), true
	case "noglob", "nocorrect", "-": // zsh: a command without some expansions, or as a login shell
		out, readers := bothExits(at), s.b.Readers()
		if readers&^plainshell.Zsh&plainshell.All != 0 {
			s.command(words, &at, in) // a program to other shells
		}
		if len(args) > 0 && readers&plainshell.Zsh != 0 {
			out = s.simple(args, at, in)
		}
		return exitScopes{join(out.success, at), join(out.failure, at)}, true
	case "builtin", "command":
		return s.commandBuiltin(words, at, in), true
	case "break", "continue", "exit", "return":
		if !plainOperands(args) {
			s.unknown("an operand of " + name + " that can run code: " + display.Display(display.ShowWords(words)))
			s.assumeAnything(&at)
			return bothExits(at), true
		}
		return s.jump(name, args, at), true
	}
	known := s.plainBuiltin(words, &at, in)
	return bothExits(at), known
}

// jump handles the commands that leave a loop or the shell.
func (s *walker) jump(name string, args []effects.Word, at scope) exitScopes {
	n, certain := 1, len(args) == 0
	if len(args) == 1 && plainNumber(args[0].Text) && len(args[0].Text) < 4 {
		n, _ = strconv.Atoi(args[0].Text)
		certain = true
	}
	switch name {
	case "exit":
		if certain || len(args) == 1 && args[0].Dynamic() && !s.maySet("IFS") {
			if !at.subprocess {
				s.exits = join(s.exits, at)
			}
			return bothExits(at.asUnreachable())
		}
	case "return":
		// Outside of a function it is an error, or exits the shell.
		if !at.subprocess {
			s.exits = join(s.exits, at)
		}
	case "break", "continue":
		if certain && n > 0 && len(s.loops) > 0 {
			s.leaveLoops(&at, n, name == "break", name == "continue")
			return bothExits(at.asUnreachable())
		}
		s.leaveLoops(&at, 0, true, true)
	}
	return bothExits(at)
}

// plainBuiltin handles the shell's commands without control flow; it returns false for any
// other command.
func (s *walker) plainBuiltin(words []effects.Word, at *scope, in runs.Input) bool {
	table := &s.b.Table.Shell
	name, args := words[0].Text, words[1:]
	if variableSetters.Has(name) {
		s.setAny()
	}
	switch name {
	case "read":
		if plainRead(args) {
			s.setWords(args, at)
			return true
		}
		s.state("sets variables", display.ShowWords(words))
		s.checkEvaluated(name, args, at)
		return true
	case "eval":
		if len(args) == 0 {
			return true
		}
		// Its words, joined, are parsed again.
		s.each(at, func(cwd string) {
			run := s.b.Run(words, runs.Setting{Cwd: cwd, From: s.from, Stdin: in.Kind, Text: in.Text})
			s.b.Inline(run, 0, args, runs.Setting{Cwd: cwd, From: s.from, Stdin: in.Kind}, true)
		})
		s.assumeAnything(at)
		s.redefineAny()
		return true
	case "source", ".":
		s.sourceFile(words, at, in)
		return true
	case "alias", "unalias":
		if name == "alias" && len(args) == 0 {
			return true
		}
		s.state("changes aliases", display.ShowWords(words))
		for _, w := range args {
			if alias, _, ok := strings.Cut(w.Text, "="); ok && !w.Dynamic() && alias != "" {
				s.redefine(alias)
			} else {
				s.redefineAny()
			}
		}
		return true
	case "trap":
		if len(args) == 0 {
			return true
		}
		run := s.b.Run(words, runs.Setting{From: s.from, Stdin: effects.StdinNone})
		s.b.Inline(run, 0, args[:1], runs.Setting{From: s.from, Stdin: effects.StdinNone}, true)
		s.state("changes what a signal runs", display.ShowWords(words))
		s.assumeAnything(at) // a trap such as DEBUG may run before each command
		return true
	case "printf":
		if len(args) > 0 && strings.HasPrefix(args[0].Text, "-v") {
			s.state("sets a variable", display.ShowWords(words))
			s.checkEvaluated(name, args[:min(len(args), 2)], at)
			return true
		}
		if len(args) > 0 && args[0].Dynamic() && (args[0].Prefix == "" || args[0].Prefix[0] == '-' || strings.Contains(args[0].Prefix, "%")) {
			s.setAny() // it may use -v or a %n
		}
		if len(args) > 0 && args[0].Glob && programs.MayMatchOption(args[0].Text) {
			s.unknown("a pattern that may become an option of printf: " + display.Display(display.ShowWords(words)))
			s.setAny()
		}
		if len(args) > 1 && storesCount(args[0].Text) {
			s.state("sets a variable", display.ShowWords(words))
			s.setAny()
			return true
		}
		if !plainPrintf(args) {
			s.unknown("a number that a shell may have to calculate: " + display.Display(display.ShowWords(words)))
			s.setAny()
		}
		return false
	case "set":
		if plainSet(args) {
			return true
		}
	}
	switch {
	case table.Nothing[name]:
		return true
	case table.Numbers[name]:
		if !plainOperands(args) {
			s.unknown("an operand of " + name + " that can run code: " + display.Display(display.ShowWords(words)))
			s.setAny()
		}
		return true
	case table.State[name]:
		s.state("changes the shell: "+name, display.ShowWords(words))
		if name == "set" && len(args) == 0 { // it prints all variables
			e := &s.b.Effects[len(s.b.Effects)-1]
			e.Tags = e.Tags.With(effects.Secret)
		}
		s.changeState(name, args, at)
		return true
	}
	return false
}

// sourceFile handles a file that the shell reads and executes.
func (s *walker) sourceFile(words []effects.Word, at *scope, in runs.Input) {
	args := words[1:]
	if s.activate(args, at) {
		return
	}
	s.state("runs a file in the shell", display.ShowWords(words))
	s.b.Effects[len(s.b.Effects)-1].Undescribed = true
	if len(args) > 0 {
		if args[0].Dynamic() || args[0].Glob {
			s.unknown("a file that is not known before it runs")
		} else {
			s.openFile(effects.KindRead, args[0].Text, at)
			s.each(at, func(cwd string) { s.b.Sourced(args, cwd, s.from) })
		}
		text, ok := in.Known()
		switch {
		case args[0].Guess != "":
			s.each(at, func(cwd string) { s.b.AddLikely(args[0].Guess, cwd, s.from) })
		case ok && runs.StandardInputs[args[0].Text]:
			s.each(at, func(cwd string) { s.b.AddLikely(text, cwd, s.from) })
		}
	}
	s.assumeAnything(at)
	s.redefineAny()
}

// commandBuiltin handles builtin and command, which run their operands without regard to
// functions and aliases.
func (s *walker) commandBuiltin(words []effects.Word, at scope, in runs.Input) exitScopes {
	args := words[1:]
	if words[0].Text == "command" && len(args) > 0 {
		switch args[0].Text {
		case "-v", "-V":
			return bothExits(at) // it only looks up names
		case "-p":
			s.unknown("command -p searches other folders")
			args = args[1:]
		}
	}
	if len(args) > 0 && args[0].Text == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return bothExits(at)
	}
	if strings.HasPrefix(args[0].Text, "-") {
		s.unknown("an option of " + words[0].Text + " that permd does not know")
		s.assumeAnything(&at)
		return bothExits(at)
	}
	switch name := args[0].Text; name {
	case "builtin", "export", "declare", "typeset", "local", "readonly", "let":
		s.state("changes the shell: "+name, display.ShowWords(words))
		s.unknown("a declaration that permd does not take apart")
		s.setAny()
		return bothExits(at)
	}
	out := s.simple(args, at, in)
	// In zsh, command runs no builtins; not all shells have builtin.
	return exitScopes{join(out.success, at), join(out.failure, at)}
}

// plainRead reports whether the words of a read command only set ordinary
// variables.
func plainRead(args []effects.Word) bool {
	for i := range args {
		switch w := &args[i]; {
		case w.Dynamic(), w.Glob:
			return false
		case w.Text == "-r", plainVariable(w.Text):
		default:
			return false
		}
	}
	return len(args) > 0
}

// execArguments removes the options of exec: -c, -l and -a NAME.
func execArguments(args []effects.Word) []effects.Word {
	for len(args) > 0 {
		switch text := args[0].Text; {
		case text == "--":
			return args[1:]
		case len(text) > 1 && text[0] == '-' && strings.Trim(text[1:], "cl") == "":
			args = args[1:]
		case len(text) > 1 && text[0] == '-' && strings.Trim(text[1:], "cl") == "a" && len(args) > 1:
			args = args[2:]
		default:
			return args
		}
	}
	return args
}

// changeState adds the other effects of a command that changes the shell.
func (s *walker) changeState(name string, args []effects.Word, at *scope) {
	switch name {
	case "compgen", "fc", "repeat", "emulate", "let", "integer", "float", "zmodload", "bind", "function", "zstyle", "bindkey":
		s.unknown("a command of the shell that can run code: " + name)
		s.assumeAnything(at)
		s.redefineAny()
	case "history":
		if len(args) > 0 { // -w writes a file, -r reads one
			s.unknown("a command of the shell that can do more: " + name)
		}
	case "hash", "enable", "unhash", "unfunction", "autoload":
		if len(args) > 0 {
			s.redefineAny()
		}
		for i := range args {
			if strings.HasPrefix(args[i].Text, "-f") {
				s.unknown("a command of the shell that can run code: " + name)
			}
		}
	case "mapfile", "readarray":
		for i := range args {
			if strings.HasPrefix(args[i].Text, "-C") {
				s.unknown("a command of the shell that can run code: " + name)
			}
		}
		s.checkEvaluated(name, args, at)
	case "unset", "getopts", "shift", "ulimit", "umask", "dirs", "fg", "bg", "disown", "caller", "complete", "compopt":
		s.checkEvaluated(name, args, at)
	case "export", "declare", "typeset", "local", "readonly":
		// The parser recognises declarations only in another form.
		s.unknown("a declaration that permd does not take apart")
		s.setAny()
	}
}

// checkEvaluated checks words that a shell takes for names of variables or for numbers, and
// records the names: a subscript in them can run code.
func (s *walker) checkEvaluated(name string, args []effects.Word, at *scope) {
	for i := range args {
		if w := &args[i]; w.Dynamic() || w.Glob || strings.ContainsAny(w.Text, "[") {
			s.unknown("an operand of " + name + " that can run code: " + display.Display(display.ShowWord(w)))
			s.setAny()
		}
	}
	s.setWords(args, at)
}

// setWords records words as names of variables that are set. A name may be in the word of
// its option too: wait -pNAME.
func (s *walker) setWords(args []effects.Word, at *scope) {
	for i := range args {
		text, _, _ := strings.Cut(args[i].Text, "=")
		if s.assign(text, at); text == "" || text[0] != '-' {
			continue
		}
		for n := range min(len(text), maxOptionName) {
			s.assign(text[n:], at)
		}
	}
}

// maxOptionName is how many letters of an option may precede a name.
const maxOptionName = 16
