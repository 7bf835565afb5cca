package effects

import (
	"mvdan.cc/sh/v3/syntax"
)

// stmts walks a list of statements that run one after the other.
func (s *shell) stmts(list []*syntax.Stmt, at *scope, in input) {
	for _, stmt := range list {
		s.stmt(stmt, at, in, false)
	}
}

// stmt walks one statement. certain says that what follows only runs when the
// statement succeeded.
func (s *shell) stmt(stmt *syntax.Stmt, at *scope, in input, certain bool) {
	if s.enough() {
		return
	}
	if s.b.statements++; s.b.statements > maxStatements {
		s.full = true
		s.unknown("more commands than permd follows")
		return
	}
	if s.level >= maxShellNesting {
		s.full = true
		s.unknown("shell text nested too deeply")
		return
	}
	s.level++
	defer func() { s.level-- }()

	if stmt.Coprocess || stmt.Disown {
		s.unknown("a statement of another shell")
	}
	if stmt.Background {
		start := at.subshell()
		s.concurrently(func() {
			inner := start
			s.foreground(stmt, &inner, in, certain)
		})
		return
	}
	s.foreground(stmt, at, in, certain)
}

// foreground walks one statement that the shell waits for.
func (s *shell) foreground(stmt *syntax.Stmt, at *scope, in input, certain bool) {
	first, sinks := len(s.b.effects), len(s.sinks)
	// Redirections are opened before the command runs; what they substitute
	// and read is known then, and the command's stdin is theirs.
	in = s.redirects(stmt.Redirs, at, in)
	if stmt.Negated {
		// "! cd x && b" runs b when the cd failed.
		defer func(before string) {
			if at.cwd != before || at.doubt {
				at.forget()
			}
		}(at.cwd)
	}
	switch stmt.Cmd.(type) {
	case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause:
		// Behind it, it is not known which of its parts ran.
		defer func(vars *binding) { at.vars = vars }(at.vars)
	}
	switch cmd := stmt.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		s.call(cmd, at, in, certain && !stmt.Negated)
		if len(cmd.Args) > 0 && cmd.Args[0].Lit() == "exec" {
			return // its redirections stay open
		}
	case *syntax.BinaryCmd:
		s.binary(cmd, at, in, certain && !stmt.Negated)
	case *syntax.Block:
		s.stmts(cmd.Stmts, at, in)
	case *syntax.Subshell:
		inner := at.subshell()
		s.stmts(cmd.Stmts, &inner, in)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			s.stmt(cmd.Stmt, at, in, certain)
		}
	case *syntax.IfClause:
		s.ifClause(cmd, at, in)
	case *syntax.WhileClause:
		s.loop(at, cmd.Cond, cmd.Do, in)
	case *syntax.ForClause:
		s.forClause(cmd, at, in)
	case *syntax.CaseClause:
		s.caseClause(cmd, at, in)
	case *syntax.TestClause:
		s.testExpr(cmd.X, at, in)
	case *syntax.FuncDecl:
		s.state("defines a function", s.source(cmd))
		inner := scope{}
		s.stmt(cmd.Body, &inner, input{kind: StdinPipe}, false)
	case *syntax.DeclClause:
		s.declare(cmd, at, in)
	case *syntax.ArithmCmd:
		s.substitutions(cmd, at, in)
		if !plainArithmetic(cmd.X) {
			s.unknown("arithmetic on variables can run code that they hold")
		}
	case *syntax.LetClause:
		s.substitutions(cmd, at, in)
		s.unknown("arithmetic on variables can run code that they hold")
	case *syntax.CoprocClause:
		s.unknown("a coprocess")
		inner := *at
		s.stmt(cmd.Stmt, &inner, input{kind: StdinPipe}, false)
	default:
		s.unknown("a kind of command that permd does not know")
	}
	s.drain(sinks, first, in)
}

// binary walks lists and pipelines.
func (s *shell) binary(cmd *syntax.BinaryCmd, at *scope, in input, certain bool) {
	switch cmd.Op {
	case syntax.AndStmt:
		if vars := at.vars; !certain {
			// Behind the list it is not known which of its parts ran.
			defer func() { at.vars = vars }()
		}
		s.stmt(cmd.X, at, in, true)
		before := at.cwd
		s.stmt(cmd.Y, at, in, certain)
		if at.cwd != before && !certain {
			// "a && cd x; b": whether b runs in x depends on a.
			at.forget()
		}
		at.settle(certain)
	case syntax.OrStmt:
		before, vars := at.cwd, at.vars
		defer func() { at.vars = vars }()
		s.stmt(cmd.X, at, in, true)
		at.vars = vars
		moved := *at
		// After "cd x || exit" the shell is in x; after any other failure it is
		// where it was, or not.
		leaves := leavesShell(cmd.Y)
		if moved.cwd != before {
			if leaves {
				other := scope{}
				s.stmt(cmd.Y, &other, in, false)
				at.doubt = false
				return
			}
			at.forget()
		}
		at.settle(false)
		after := at.cwd
		s.stmt(cmd.Y, at, in, false)
		if at.cwd != after {
			at.forget()
		}
	case syntax.Pipe, syntax.PipeAll:
		// The right side is one of its own in bash, but not in zsh.
		first, start := len(s.b.effects), at.subshell()
		walk := func() {
			left := start
			s.stmt(cmd.X, &left, in, false)
		}
		walk()
		end, before := len(s.b.effects), s.b.changes()
		kind := StdinPipe
		if s.reachesNetwork(first, end) || in.kind == StdinNetwork {
			kind = StdinNetwork
		}
		right, piped := *at, input{kind: kind}
		if kind == StdinPipe {
			piped.printed = s.output(cmd.X, at, in)
		}
		s.stmt(cmd.Y, &right, piped, false)
		// Both sides run at the same time.
		s.repeat(first, end, before, walk)
		if right.cwd != at.cwd {
			at.forget()
		}
	default:
		s.unknown("a kind of list that permd does not know")
	}
}

// leavesShell reports whether a statement ends the shell.
func leavesShell(stmt *syntax.Stmt) bool {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	return ok && len(stmt.Redirs) == 0 && len(call.Assigns) == 0 && len(call.Args) > 0 && call.Args[0].Lit() == "exit"
}

// reachesNetwork reports whether one of the effects from index first up to end
// brings data from the network.
func (s *shell) reachesNetwork(first, end int) bool {
	for i := first; i < end; i++ {
		e := &s.b.effects[i]
		switch {
		case e.Kind == KindConnect:
			return true
		case e.Kind == KindRun && (e.Run.Stdin == StdinNetwork || s.b.networkProgram(e.Run.Program)):
			return true
		}
	}
	return false
}

func (s *shell) ifClause(cmd *syntax.IfClause, at *scope, in input) {
	start := at.cwd
	moved := false
	for clause := cmd; clause != nil; clause = clause.Else {
		if len(clause.Cond) > 0 {
			s.stmts(clause.Cond, at, in)
			moved = moved || at.cwd != start
		}
		branch := *at
		s.stmts(clause.Then, &branch, in)
		moved = moved || branch.cwd != start
		at.outside = at.outside || branch.outside
		if moved {
			// The next branch runs when a cd in the condition failed.
			at.forget()
		}
	}
}

func (s *shell) caseClause(cmd *syntax.CaseClause, at *scope, in input) {
	s.inert(cmd.Word, at, in)
	start, moved := *at, false
	for _, item := range cmd.Items {
		for _, pattern := range item.Patterns {
			s.inert(pattern, at, in)
		}
		branch := start
		if item.Op != syntax.Break {
			// ;& goes on in the next branch, so its folder is not known there.
			moved = true
			start.forget()
		}
		s.stmts(item.Stmts, &branch, in)
		moved = moved || branch.cwd != start.cwd
		at.outside = at.outside || branch.outside
	}
	if moved {
		at.forget()
	}
}

// inert walks a word whose value decides nothing that a rule could be about.
func (s *shell) inert(w *syntax.Word, at *scope, in input) {
	if w == nil {
		return
	}
	s.substitutions(w, at, in)
	if unsafeExpansion(w) {
		s.unknown("an expansion that can run code or set a variable")
	}
}

// testExpr walks [[ … ]]. Comparisons of numbers and -v evaluate subscripts,
// which can run code even out of single quotes.
func (s *shell) testExpr(x syntax.TestExpr, at *scope, in input) {
	switch x := x.(type) {
	case *syntax.Word:
		s.inert(x, at, in)
	case *syntax.ParenTest:
		s.testExpr(x.X, at, in)
	case *syntax.UnaryTest:
		s.testExpr(x.X, at, in)
		switch x.Op {
		case syntax.TsVarSet, syntax.TsRefVar, syntax.TsOptSet:
			s.unknown("a test that can run code in a subscript")
		}
	case *syntax.BinaryTest:
		s.testExpr(x.X, at, in)
		s.testExpr(x.Y, at, in)
		switch x.Op {
		case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch, syntax.TsReMatch, syntax.TsAfter, syntax.TsBefore,
			syntax.AndTest, syntax.OrTest, syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
		default:
			s.unknown("a test that can run code in a subscript")
		}
	default:
		s.unknown("a test that permd does not know")
	}
}
