package effects

import "mvdan.cc/sh/v3/syntax"

// loop walks a condition and a body that may run many times.
func (s *shell) loop(at *scope, cond, body []*syntax.Stmt, in input) {
	if at.cwd != "" && !s.still {
		if changesFolder(cond) || changesFolder(body) {
			at.forget()
		} else {
			s.still = true
			defer func() { s.still = false }()
		}
	}
	if !s.looping { // else the outer loop has looked for them
		s.looping = true
		defer func() { s.looping = false }()
		for _, list := range [][]*syntax.Stmt{cond, body} {
			for _, stmt := range list {
				s.findAssigned(stmt)
			}
		}
	}
	first, before := len(s.b.effects), s.b.changes()
	walk := func() {
		s.stmts(cond, at, in)
		s.stmts(body, at, in)
	}
	walk()
	s.repeat(first, len(s.b.effects), before, walk)
}

// findAssigned notes the variables that a part of a loop sets, as they hold in
// its second round from its beginning.
func (s *shell) findAssigned(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				s.assign(n.Name.Value)
			}
		case *syntax.WordIter:
			s.assign(n.Name.Value)
		}
		return true
	})
}

func (s *shell) forClause(cmd *syntax.ForClause, at *scope, in input) {
	switch loop := cmd.Loop.(type) {
	case *syntax.WordIter:
		var items []word
		for _, item := range loop.Items {
			items = s.expand(items, item, at, in, inCommand)
		}
		s.assign(loop.Name.Value)
		if !plainVariable(loop.Name.Value) {
			s.state("sets the variable "+loop.Name.Value, "for "+loop.Name.Value)
		}
		if s.rounds(cmd, loop.Name.Value, items, at, in) {
			return
		}
	default:
		s.substitutions(cmd.Loop, at, in)
		s.unknown("arithmetic on variables can run code that they hold")
	}
	if cmd.Select {
		s.unknown("a select loop")
	}
	s.loop(at, nil, cmd.Do, in)
}

// rounds walks the body of a loop over words that are all known, once for each;
// false when they are not. What the variable holds behind the loop is left open.
func (s *shell) rounds(cmd *syntax.ForClause, name string, items []word, at *scope, in input) bool {
	if len(items) > maxLoopWords || len(items) > 0 && (s.followed >= maxLoops || len(s.source(cmd)) > maxLoopText) {
		s.over = true
		return false
	}
	if len(items) == 0 || cmd.Select || !plainVariable(name) {
		return false
	}
	if s.followed++; setsIn(cmd.Do, name) {
		return false
	}
	for i := range items {
		if items[i].dynamic() || items[i].glob {
			return false
		}
	}
	if s.values == nil {
		s.values = map[string]string{}
	}
	if !s.still && at.cwd != "" && changesFolder(cmd.Do) && jumps(cmd.Do) {
		at.forget() // what is left out may be the way back
	}
	outer, had := s.values[name]
	for i := range items {
		s.values[name] = items[i].text
		s.stmts(cmd.Do, at, in)
	}
	if delete(s.values, name); had {
		s.values[name] = outer
	}
	return true
}

// jumps reports whether a round may end before its last statement.
func jumps(list []*syntax.Stmt) bool {
	found := false
	for _, stmt := range list {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				switch call.Args[0].Lit() {
				case "break", "continue", "return", "builtin", "command":
					found = true
				}
			}
			return !found
		})
	}
	return found
}

// setsIn reports whether something in the statements may set the variable.
func setsIn(list []*syntax.Stmt, name string) bool {
	found := false
	for _, stmt := range list {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				found = found || n.Name == nil || n.Name.Value == name
			case *syntax.WordIter:
				found = found || n.Name.Value == name
			case *syntax.FuncDecl, *syntax.ArithmCmd, *syntax.LetClause, *syntax.ArithmExp:
				found = true
			case *syntax.CallExpr:
				if len(n.Args) > 0 {
					switch n.Args[0].Lit() {
					case "", "read", "eval", "source", ".", "builtin", "command", "unset", "getopts", "mapfile", "readarray", "printf", "trap", "noglob":
						found = true
					}
				}
			}
			return !found
		})
	}
	return found
}
