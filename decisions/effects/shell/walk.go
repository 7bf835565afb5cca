package shell

import (
	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/runs"
)

// script walks a whole text. A shell that reads it line by line may abandon one line, at a
// pattern without a match or a failed expansion, and continue with the next.
func (s *walker) script(list []*syntax.Stmt, at scope, in runs.Input) scope {
	s.exits, s.aborts = scope{unreachable: true}, scope{unreachable: true}
	line := uint(1)
	for i, stmt := range list {
		if i > 0 && stmt.Pos().Line() > line && !s.aborts.unreachable {
			at = join(at, s.aborts)
		}
		line = stmt.End().Line()
		out := s.stmt(stmt, at, in)
		at = out.end()
	}
	return join(join(at, s.exits), s.aborts)
}

// leavesProject records that the text ends in a folder outside of the project.
func (s *walker) leavesProject(at *scope) {
	for i := range at.places {
		if at.places[i].outside && !s.b.KeepsFolder {
			s.state("leaves the shell in another folder", "cd "+at.places[i].cwd)
			return
		}
	}
}

// stmts walks a list of statements that run in sequence.
func (s *walker) stmts(list []*syntax.Stmt, at scope, in runs.Input) exitScopes {
	out := bothExits(at)
	for i, stmt := range list {
		if i > 0 {
			at = out.end()
		}
		out = s.stmt(stmt, at, in)
	}
	return out
}

// stmt walks one statement.
func (s *walker) stmt(stmt *syntax.Stmt, at scope, in runs.Input) exitScopes {
	if s.boundReached() {
		return bothExits(at)
	}
	if s.b.Statements++; s.b.Statements > maxStatements {
		s.full = true
		s.unknown("more commands than permd follows, those of loops counted each time")
		return bothExits(at)
	}
	if s.level >= maxShellNesting {
		s.full = true
		s.unknown("shell text nested too deeply")
		return bothExits(at)
	}
	s.level++
	defer func() { s.level-- }()

	if stmt.Coprocess || stmt.Disown { // |& of mksh, and &| of zsh; coproc is a clause
		s.unknown("a statement of another shell")
	}
	if stmt.Background {
		s.walkConcurrent(func() {
			s.outOfLoops(func() { s.foreground(stmt, at.subshell(), in) })
		})
		return bothExits(s.beforeLast(stmt, at, in))
	}
	return s.foreground(stmt, at, in)
}

// beforeLast returns the scope after a list of which the last part runs in the background:
// in zsh, all earlier parts run in the shell itself.
func (s *walker) beforeLast(stmt *syntax.Stmt, at scope, in runs.Input) scope {
	list, ok := stmt.Cmd.(*syntax.BinaryCmd)
	if !ok || list.Op != syntax.AndStmt && list.Op != syntax.OrStmt || s.b.Readers()&plainshell.Zsh == 0 {
		return at
	}
	first, sinks, besides := len(s.b.Effects), len(s.sinks), len(s.concurrentParts)
	out := s.stmt(list.X, at, in)
	// Its effects are already recorded; only the scope is needed.
	s.b.Effects, s.sinks, s.concurrentParts = s.b.Effects[:first], s.sinks[:sinks], s.concurrentParts[:besides]
	return join(at, out.end())
}

// foreground walks one statement that the shell waits for.
func (s *walker) foreground(stmt *syntax.Stmt, at scope, in runs.Input) exitScopes {
	first, sinks := len(s.b.Effects), len(s.sinks)
	// Redirections are opened before the command runs: their effects and the command's
	// standard input are then known.
	outer := in
	in = s.redirects(stmt.Redirs, &at, outer)
	out := bothExits(at)
	switch cmd := stmt.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		var exec bool
		if out, exec = s.call(cmd, at, in, outer); exec {
			sinks = len(s.sinks) // its redirections remain open
		}
	case *syntax.BinaryCmd:
		out = s.binary(cmd, at, in)
	case *syntax.Block:
		out = s.stmts(cmd.Stmts, at, in)
	case *syntax.Subshell:
		s.outOfLoops(func() { s.stmts(cmd.Stmts, at.subshell(), in) })
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			// Shells without the keyword run a program time, as zsh does for "time -p".
			out = s.stmt(cmd.Stmt, at, in)
			out = exitScopes{join(out.success, at), join(out.failure, at)}
		}
	case *syntax.IfClause:
		out = s.ifClause(cmd, at, in)
	case *syntax.WhileClause:
		out = s.loop(at, cmd.Cond, cmd.Do, cmd.Until, "", in)
	case *syntax.ForClause:
		out = s.forClause(cmd, at, in)
	case *syntax.CaseClause:
		out = s.caseClause(cmd, at, in)
	case *syntax.TestClause:
		s.testExpr(cmd.X, &at, in)
		out = bothExits(at)
	case *syntax.FuncDecl:
		s.state("defines a function", s.source(cmd))
		s.outOfLoops(func() { s.stmt(cmd.Body, startAt(""), runs.Input{Kind: effects.StdinPipe}) })
	case *syntax.DeclClause:
		s.declare(cmd, &at, outer)
		out = bothExits(at)
	case *syntax.ArithmCmd:
		s.substitutions(cmd, &at, in)
		if !plainArithmetic(cmd.X) {
			s.unknown("arithmetic on variables can run code that they hold")
			s.setAny()
		}
	case *syntax.LetClause:
		s.substitutions(cmd, &at, in)
		s.unknown("arithmetic on variables can run code that they hold")
		s.setAny()
	case *syntax.CoprocClause:
		s.unknown("a coprocess")
		s.setAny()
		s.outOfLoops(func() { s.stmt(cmd.Stmt, at.subshell(), runs.Input{Kind: effects.StdinPipe}) })
	default:
		s.unknown("a kind of command that permd does not know")
		s.assumeAnything(&at)
		out = bothExits(at)
	}
	if mayFail(stmt.Redirs) {
		// The command does not run if that fails.
		out.failure = join(out.failure, at)
	}
	if stmt.Negated {
		out.success, out.failure = out.failure, out.success
	}
	s.drain(sinks, first, in)
	return out
}

// binary walks lists and pipelines.
func (s *walker) binary(cmd *syntax.BinaryCmd, at scope, in runs.Input) exitScopes {
	switch cmd.Op {
	case syntax.AndStmt:
		x := s.stmt(cmd.X, at, in)
		y := s.stmt(cmd.Y, x.success, in)
		return exitScopes{y.success, join(x.failure, y.failure)}
	case syntax.OrStmt:
		x := s.stmt(cmd.X, at, in)
		y := s.stmt(cmd.Y, x.failure, in)
		return exitScopes{join(x.success, y.success), y.failure}
	case syntax.Pipe, syntax.PipeAll:
		first := len(s.b.Effects)
		walk := func() {
			left := in
			left.Redirected = true
			s.outOfLoops(func() { s.stmt(cmd.X, at.subshell(), left) })
		}
		s.b.Found = nil
		walk()
		end, before := len(s.b.Effects), s.b.Changes()
		kind := effects.StdinPipe
		if s.reachesNetwork(first, end) || in.Kind == effects.StdinNetwork {
			kind = effects.StdinNetwork
		}
		piped := runs.Input{Kind: kind, Redirected: in.Redirected}
		if kind == effects.StdinPipe {
			piped.Printed = s.output(cmd.X, &at, in)
			if cmd.Op == syntax.Pipe {
				piped.Words = s.wordsFor(cmd.X, cmd.Y, &at)
			}
		}
		if s.b.Readers()&plainshell.Zsh != 0 {
			own := in
			piped.Own = &own
		}
		// The right side runs in a separate process in bash, but not in zsh.
		out := s.stmt(cmd.Y, at, piped)
		// Both sides run at the same time.
		s.rewalk(first, end, before, walk)
		return exitScopes{join(at, out.success), join(at, out.failure)}
	default:
		s.unknown("a kind of list that permd does not know")
		s.assumeAnything(&at)
		return bothExits(at)
	}
}

// reachesNetwork reports whether one of the effects from index first up to end fetches
// data from the network.
func (s *walker) reachesNetwork(first, end int) bool {
	for i := first; i < end; i++ {
		switch e := &s.b.Effects[i]; e.Kind {
		case effects.KindConnect:
			return true
		case effects.KindRun:
			if e.Run.Stdin == effects.StdinNetwork || s.b.NetworkProgram(e.Run.Program) {
				return true
			}
		case effects.KindRead, effects.KindWrite, effects.KindDelete, effects.KindUse, effects.KindState, effects.KindMode,
			effects.KindQuestion, effects.KindUnknown:
		}
	}
	return false
}

func (s *walker) ifClause(cmd *syntax.IfClause, at scope, in runs.Input) exitScopes {
	out := bothExits(scope{unreachable: true})
	for clause := cmd; clause != nil; clause = clause.Else {
		holds := at
		if len(clause.Cond) > 0 {
			cond := s.stmts(clause.Cond, at, in)
			holds, at = cond.success, cond.failure
		} else {
			at = at.asUnreachable() // an else
		}
		then := s.stmts(clause.Then, holds, in)
		out = exitScopes{join(out.success, then.success), join(out.failure, then.failure)}
	}
	out.success = join(out.success, at)
	return out
}

func (s *walker) caseClause(cmd *syntax.CaseClause, at scope, in runs.Input) exitScopes {
	s.ignoredWord(cmd.Word, &at, in)
	end, through := at, scope{unreachable: true}
	for _, item := range cmd.Items {
		for _, pattern := range item.Patterns {
			s.ignoredWord(pattern, &at, in)
		}
		out := s.stmts(item.Stmts, join(at, through), in)
		through = out.end()
		end = join(end, through)
		if item.Op == syntax.Break {
			through = through.asUnreachable()
		}
	}
	return bothExits(end)
}

// ignoredWord walks a word whose value is irrelevant to rules.
func (s *walker) ignoredWord(w *syntax.Word, at *scope, in runs.Input) {
	if w == nil {
		return
	}
	s.substitutions(w, at, in)
	if s.unsafeExpansion(w, at) {
		s.unknown("an expansion that can run code or set a variable")
		s.setAny()
	}
}

// testExpr walks [[ … ]]. Numeric comparisons and -v evaluate subscripts, which can run
// code even from single quotes.
func (s *walker) testExpr(x syntax.TestExpr, at *scope, in runs.Input) {
	switch x := x.(type) {
	case *syntax.Word:
		s.ignoredWord(x, at, in)
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
