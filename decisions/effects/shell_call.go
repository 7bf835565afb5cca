package effects

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call walks a simple command: assignments and words.
func (s *shell) call(cmd *syntax.CallExpr, at *scope, in input, certain, redirected bool) {
	for _, a := range cmd.Assigns {
		s.assignment(a, at, in)
		alone := len(cmd.Args) == 0
		if alone || a.Index != nil || a.Array != nil || a.Append || !s.harmlessAssignment(a, at) {
			s.state("sets the variable "+a.Name.Value, s.showAssignment(a))
		}
	}
	if len(cmd.Args) == 0 {
		return
	}
	words := make([]word, 0, len(cmd.Args))
	for _, arg := range cmd.Args {
		words = s.expand(words, arg, at, in, inCommand)
	}
	s.simple(words, at, in, certain, redirected)
}

// harmlessAssignment reports whether a variable set for one run changes nothing
// but how its output looks.
func (s *shell) harmlessAssignment(a *syntax.Assign, at *scope) bool {
	value := word{}
	if a.Value != nil {
		value = s.value(a.Value, s.source(a.Value), at)
	}
	return !value.dynamic() && s.b.w.Table.harmlessAssignment(a.Name.Value, value.text)
}

// secretNames are parts of the names of variables that hold secrets.
var secretNames = []string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH"}

// showAssignment is an assignment as it was typed, without a value that by its
// name is a secret.
func (s *shell) showAssignment(a *syntax.Assign) string {
	name := strings.ToUpper(a.Name.Value)
	for _, part := range secretNames {
		if strings.Contains(name, part) {
			return a.Name.Value + "=" + masked
		}
	}
	return s.source(a)
}

// simple adds the effects of a command's words.
func (s *shell) simple(words []word, at *scope, in input, certain, redirected bool) {
	name := &words[0]
	if name.dynamic() || name.glob || name.text == "" {
		s.unknown("a program whose name is not known before it runs: " + Display(name.show()))
		return
	}
	if s.allRedefined || s.redefined[name.text] {
		s.unknown("the name " + Display(name.text) + " is redefined in the command")
		return
	}
	if s.builtin(words, at, in, certain, redirected) {
		return
	}
	s.b.command(words, setting{cwd: at.cwd, from: s.from, stdin: in.kind, text: in.text})
}

// builtin handles the commands that the shell runs itself and that a program
// table cannot describe; false when the command is none of them.
func (s *shell) builtin(words []word, at *scope, in input, certain, redirected bool) bool {
	table := &s.b.w.Table.shell
	name, args := words[0].text, words[1:]
	switch name {
	case "cd":
		s.cd(args, at, certain)
		return true
	case "pushd", "popd":
		s.unknown(name + " to a folder that is not known")
		at.cwd = ""
		s.leave(at, "")
		return true
	case "read":
		if plainRead(args) {
			for _, w := range args {
				s.assign(w.text)
			}
			return true
		}
		s.state("sets variables", showWords(words))
		return true
	case "eval":
		if len(args) == 0 {
			return true
		}
		// Its words, joined, are parsed again.
		run := s.b.run(words, setting{cwd: at.cwd, from: s.from, stdin: in.kind, text: in.text})
		s.b.inline(run, 0, args, setting{cwd: at.cwd, from: s.from, stdin: in.kind})
		at.cwd = ""
		s.leave(at, "")
		s.allRedefined = true
		return true
	case "source", ".":
		s.state("runs a file in the shell", showWords(words))
		if len(args) > 0 {
			if args[0].dynamic() || args[0].glob {
				s.unknown("a file that is not known before it runs")
			} else {
				s.b.add(s.b.operand(KindRead, args[0].text, at.cwd, s.from))
			}
		}
		at.cwd = ""
		s.allRedefined = true
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
		if len(args) > 0 {
			s.simple(args, at, in, false, false)
		}
		return true
	case "builtin", "command":
		return s.bypass(words, at, in, certain)
	case "trap":
		if len(args) == 0 {
			return true
		}
		run := s.b.run(words, setting{from: s.from, stdin: StdinNone})
		s.b.inline(run, 0, args[:1], setting{from: s.from, stdin: StdinNone})
		s.state("changes what a signal runs", showWords(words))
		return true
	case "printf":
		if len(args) > 0 && strings.HasPrefix(args[0].text, "-v") {
			s.state("sets a variable", showWords(words))
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
	if words[0].text == "builtin" {
		switch args[0].text {
		case "builtin", "export", "declare", "typeset", "local", "readonly", "let":
			s.state("changes the shell: "+args[0].text, showWords(words))
			return true
		}
	}
	switch args[0].text {
	case "export", "declare", "typeset", "local", "readonly", "let":
		s.state("changes the shell: "+args[0].text, showWords(words))
		return true
	}
	s.simple(args, at, in, certain, false)
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

// showWords is a command as a person would type it.
func showWords(words []word) string {
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[i].show())
	}
	return b.String()
}
