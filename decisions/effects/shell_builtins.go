package effects

import "strings"

// builtin handles the commands that the shell runs itself and that a program
// table cannot describe; false when the command is none of them.
func (s *shell) builtin(words []word, at *scope, in input, certain bool) bool {
	table := &s.b.w.Table.shell
	name, args := words[0].text, words[1:]
	switch name {
	case "cd":
		s.cd(args, at, certain)
		return true
	case "pushd":
		s.pushd(args, at, certain)
		return true
	case "popd":
		s.popd(args, at, certain)
		return true
	case "read":
		if plainRead(args) {
			s.setWords(args)
			return true
		}
		s.state("sets variables", showWords(words))
		s.evaluated(name, args)
		return true
	case "eval":
		if len(args) == 0 {
			return true
		}
		// Its words, joined, are parsed again.
		run := s.b.run(words, setting{cwd: at.cwd, from: s.from, stdin: in.kind, text: in.text})
		s.b.inline(run, 0, args, setting{cwd: at.cwd, from: s.from, stdin: in.kind}, true)
		s.lose(at)
		s.allRedefined, s.anyAssigned = true, true
		return true
	case "source", ".":
		if s.activate(args, at) {
			return true
		}
		s.state("runs a file in the shell", showWords(words))
		if len(args) > 0 {
			if args[0].dynamic() || args[0].glob {
				s.unknown("a file that is not known before it runs")
			} else {
				s.b.add(s.b.operand(KindRead, args[0].text, at.cwd, s.from))
			}
			text, ok := in.known()
			switch {
			case args[0].guess != "":
				s.b.glimpse(args[0].guess, at.cwd, s.from)
			case ok && standardInputs[args[0].text]:
				s.b.glimpse(text, at.cwd, s.from)
			}
		}
		s.lose(at)
		s.allRedefined, s.anyAssigned = true, true
		return true
	case "alias", "unalias":
		if name == "alias" && len(args) == 0 {
			return true
		}
		s.state("changes aliases", showWords(words))
		for _, w := range args {
			if alias, _, ok := strings.Cut(w.text, "="); ok && !w.dynamic() && alias != "" {
				s.redefine(alias)
			} else {
				s.allRedefined = true
			}
		}
		return true
	case "exec":
		s.state("replaces the shell or its descriptors", showWords(words))
		if args = execArguments(args); len(args) > 0 {
			s.simple(args, at, in, false)
		}
		return true
	case "noglob", "nocorrect": // zsh: a command without some expansions
		if len(args) > 0 {
			s.simple(args, at, in, certain)
		}
		return true
	case "builtin", "command":
		return s.bypass(words, at, in, certain)
	case "trap":
		if len(args) == 0 {
			return true
		}
		run := s.b.run(words, setting{from: s.from, stdin: StdinNone})
		s.b.inline(run, 0, args[:1], setting{from: s.from, stdin: StdinNone}, true)
		s.state("changes what a signal runs", showWords(words))
		return true
	case "printf":
		if len(args) > 0 && strings.HasPrefix(args[0].text, "-v") {
			s.state("sets a variable", showWords(words))
			s.evaluated(name, args[:min(len(args), 2)])
			return true
		}
		if len(args) > 1 && countsInto(args[0].text) {
			s.state("sets a variable", showWords(words))
			s.anyAssigned = true
			return true
		}
		if !plainPrintf(args) {
			s.unknown("a number that a shell may have to calculate: " + Display(showWords(words)))
		}
		return false
	case "set":
		if plainSet(args) {
			return true
		}
	}
	switch {
	case table.nothing[name]:
		return true
	case table.numbers[name]:
		if !plainOperands(args) {
			s.unknown("an operand of " + name + " that can run code: " + Display(showWords(words)))
		}
		return true
	case table.state[name]:
		s.state("changes the shell: "+name, showWords(words))
		if name == "set" && len(args) == 0 { // which prints all variables
			e := &s.b.effects[len(s.b.effects)-1]
			e.Tags = e.Tags.With(Secret)
		}
		s.stateful(name, args)
		return true
	}
	return false
}

// bypass handles builtin and command, which run their operands past functions
// and aliases.
func (s *shell) bypass(words []word, at *scope, in input, certain bool) bool {
	args := words[1:]
	if words[0].text == "command" && len(args) > 0 {
		switch args[0].text {
		case "-v", "-V":
			return true // it only looks names up
		case "-p":
			s.unknown("command -p searches other folders")
			args = args[1:]
		}
	}
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return true
	}
	if strings.HasPrefix(args[0].text, "-") {
		s.unknown("an option of " + words[0].text + " that permd does not know")
		return true
	}
	switch name := args[0].text; name {
	case "builtin", "export", "declare", "typeset", "local", "readonly", "let":
		s.state("changes the shell: "+name, showWords(words))
		s.unknown("a declaration that permd does not take apart")
		s.anyAssigned = true
		return true
	}
	s.simple(args, at, in, certain)
	return true
}

// plainRead reports whether the words of a read command only set variables of
// the script's own.
func plainRead(args []word) bool {
	for i := range args {
		switch w := &args[i]; {
		case w.dynamic(), w.glob:
			return false
		case w.text == "-r", plainVariable(w.text):
		default:
			return false
		}
	}
	return len(args) > 0
}

// execArguments leaves out the options of exec: -c, -l and -a NAME.
func execArguments(args []word) []word {
	for len(args) > 0 {
		switch text := args[0].text; {
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

// stateful adds what a command that changes the shell may do beyond that.
func (s *shell) stateful(name string, args []word) {
	switch name {
	case "compgen", "fc", "repeat", "emulate", "let", "integer", "float", "zmodload", "bind", "function", "zstyle", "bindkey":
		s.unknown("a command of the shell that can run code: " + name)
		s.allRedefined, s.anyAssigned = true, true
	case "history":
		if len(args) > 0 { // -w writes a file, -r reads one
			s.unknown("a command of the shell that can do more: " + name)
		}
	case "hash", "enable", "unhash", "unfunction", "autoload":
		s.allRedefined = s.allRedefined || len(args) > 0
		for i := range args {
			if strings.HasPrefix(args[i].text, "-f") {
				s.unknown("a command of the shell that can run code: " + name)
			}
		}
	case "mapfile", "readarray":
		for i := range args {
			if strings.HasPrefix(args[i].text, "-C") {
				s.unknown("a command of the shell that can run code: " + name)
			}
		}
		s.evaluated(name, args)
	case "unset", "getopts", "shift", "ulimit", "umask", "dirs", "fg", "bg", "disown", "caller", "complete", "compopt":
		s.evaluated(name, args)
	case "export", "declare", "typeset", "local", "readonly":
		// Not in the form that the parser knows declarations by.
		s.unknown("a declaration that permd does not take apart")
		s.anyAssigned = true
	}
}

// evaluated checks words that a shell takes for names of variables or for
// numbers, and notes the names: a subscript in them can run code.
func (s *shell) evaluated(name string, args []word) {
	for i := range args {
		if w := &args[i]; w.dynamic() || w.glob || strings.ContainsAny(w.text, "[") {
			s.unknown("an operand of " + name + " that can run code: " + Display(w.show()))
			s.anyAssigned = true
		}
	}
	s.setWords(args)
}

// setWords notes words as names of variables that are set.
func (s *shell) setWords(args []word) {
	for i := range args {
		s.assign(args[i].text)
	}
}
