package effects

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// changesFolder reports whether something in the nodes could change the
// working directory, so that it is not known in a loop's second round.
func changesFolder(stmts []*syntax.Stmt) bool {
	found := false
	for _, stmt := range stmts {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch n.(type) {
			case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
				return false // it changes its own
			}
			call, ok := n.(*syntax.CallExpr)
			if !ok || len(call.Args) == 0 {
				return !found
			}
			switch call.Args[0].Lit() {
			case "cd", "pushd", "popd", "", "eval", "source", ".", "builtin", "command", "noglob", "nocorrect":
				found = true
			}
			return !found
		})
	}
	return found
}

// cd follows a cd command to its target; certain says that the command after
// it only runs when it worked.
func (s *shell) cd(args []word, at *scope, certain bool) {
	target, why := s.cdTarget(args, at)
	if why != "" {
		s.unknown(why)
		s.lose(at)
		return
	}
	if text := args[max(len(args)-1, 0):]; len(text) > 0 && goesBack(text[0].text) {
		at.doubt = true // a folder on the way may be missing
	}
	s.move(target, at, certain)
}

// goesBack reports whether a path goes into a folder and up again.
func goesBack(text string) bool {
	for {
		rest, ok := strings.CutPrefix(text, "../")
		if !ok {
			return text != ".." && strings.Contains(text, "..")
		}
		text = strings.TrimLeft(rest, "/")
	}
}

// move changes the folder to target, an absolute and cleaned path.
func (s *shell) move(target string, at *scope, certain bool) {
	e := s.b.res.operand(KindRead, target, at.cwd, s.from)
	if e.Kind != KindRead || e.File == nil {
		s.b.add(e)
		s.lose(at)
		return
	}
	at.old, at.cwd = at.cwd, target
	at.outside = !e.Tags.Has(InProject)
	s.leave(at, target)
	// A harness that starts a new shell for the next call starts it where the
	// folder really is, and there ".." is another one.
	s.leave(at, e.File.Path)
	at.doubt = at.doubt || !s.there(e.File.Path)
	at.settle(certain)
}

// settle is to be called where a command can follow that runs though a cd before
// it did not work: then it runs where the shell was before.
func (at *scope) settle(certain bool) {
	if at.doubt && !certain {
		at.forget()
	}
}

// there reports whether a folder surely exists when the text gets to it.
func (s *shell) there(folder string) bool {
	if mode, err := s.b.res.lstat(folder); err != nil || !mode.IsDir() {
		return false
	}
	for i := range s.b.effects {
		if e := &s.b.effects[i]; e.Kind == KindDelete && e.File != nil && inside(e.File.Path, folder) {
			return false
		}
	}
	return true
}

// lose notes that a command may go to a folder that is not known.
func (s *shell) lose(at *scope) {
	at.forget()
	s.leave(at, "")
}

// forget notes that it is not certain where commands of the text got to.
func (at *scope) forget() { at.cwd, at.old, at.stack, at.doubt = "", "", nil, false }

// cdTarget is where the words of a cd lead, or why that is not known. That the
// person's shell has no CDPATH of its own is taken for granted: it is for shells
// that a person types at, and is not to be exported.
func (s *shell) cdTarget(args []word, at *scope) (target, why string) {
	switch {
	case len(args) == 0:
		target = s.b.c.User.Home
	case len(args) == 2 && args[0].text == "--":
		target = args[1].text
	case len(args) == 1:
		target = args[0].text
	}
	dynamic := len(args) > 2
	for _, w := range args {
		dynamic = dynamic || w.dynamic() || w.glob
	}
	if target == "-" && !dynamic && !s.sets("OLDPWD") {
		target = at.old
	}
	switch {
	case dynamic, target == "", strings.HasPrefix(target, "-"), target[0] == '+':
		return "", "cd to a folder that is not known"
	case s.sets("CDPATH") || s.sets("HOME") || s.sets("PWD"):
		return "", "cd after a change of the variables that guide it"
	}
	if target[0] != '/' {
		if at.cwd == "" {
			return "", "cd from a folder that is not known"
		}
		// The shell keeps the path as typed: "cd link/.." stays where it was.
		target = path.Join(at.cwd, target)
	}
	return path.Clean(target), ""
}

// pushd follows pushd to a folder that it names, and to the one on top.
func (s *shell) pushd(args []word, at *scope, certain bool) {
	before := at.cwd
	switch {
	case len(args) == 0 && len(at.stack) > 0 && before != "":
		top := at.stack[len(at.stack)-1]
		at.stack = append(at.stack[:len(at.stack)-1:len(at.stack)-1], before)
		s.move(top, at, certain)
	case len(args) == 1 && before != "" && args[0].text != "-":
		stack := append(at.stack[:len(at.stack):len(at.stack)], before)
		if s.cd(args, at, certain); at.cwd != "" {
			at.stack = stack
		}
	default:
		s.unknown("pushd to a folder that is not known")
		s.lose(at)
	}
}

// popd follows popd back to where a pushd of the text came from.
func (s *shell) popd(args []word, at *scope, certain bool) {
	if len(args) > 0 || len(at.stack) == 0 {
		s.unknown("popd to a folder that is not known")
		s.lose(at)
		return
	}
	n := len(at.stack) - 1
	top := at.stack[n]
	at.stack = at.stack[:n:n]
	s.move(top, at, certain)
}

// leave notes where a cd may leave the shell of the call.
func (s *shell) leave(at *scope, folder string) {
	if !at.apart {
		s.b.leave(folder)
	}
}
