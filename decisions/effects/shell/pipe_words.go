package shell

import (
	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects/runs"
)

// wordsFor returns what the left side of a pipe certainly prints, if the right side hands
// it to xargs and nothing else reads it: the text of echo and printf, or the paths of
// find -print0, whose run has been read. nil if it is not known.
func (s *walker) wordsFor(left, right *syntax.Stmt, at *scope) *runs.Words {
	if name, _ := soleCall(right); name != "xargs" || s.allRedefined || s.redefined[name] {
		return nil
	}
	name, call := soleCall(left)
	if call == nil || s.redefined[name] || len(left.Redirs) > 0 && !quiet(left.Redirs) {
		return nil
	}
	if _, whole := left.Cmd.(*syntax.CallExpr); !whole {
		return nil
	}
	switch name {
	case "echo", "printf":
		if text, ok := s.echoOutput(name, call.Args[1:], at); ok && len(text) <= runs.MaxOutput {
			return &runs.Words{Text: text}
		}
	case "find":
		if s.b.Found != nil {
			return &runs.Words{Found: s.b.Found}
		}
	}
	return nil
}

// soleCall returns the command that reads the input of a statement, and its literal name, if
// no other command of it may read of that input: a command, or the first of a pipeline.
func soleCall(stmt *syntax.Stmt) (string, *syntax.CallExpr) {
	for range maxStages {
		if stmt.Negated || stmt.Background || stmt.Coprocess {
			return "", nil
		}
		switch cmd := stmt.Cmd.(type) {
		case *syntax.BinaryCmd:
			if cmd.Op != syntax.Pipe || len(stmt.Redirs) > 0 {
				return "", nil
			}
			stmt = cmd.X
		case *syntax.CallExpr:
			if len(cmd.Assigns) > 0 || len(cmd.Args) == 0 || readsElsewhere(stmt) {
				return "", nil
			}
			return cmd.Args[0].Lit(), cmd
		default:
			return "", nil
		}
	}
	return "", nil
}

// readsElsewhere reports whether a substitution in a statement may read its input first.
func readsElsewhere(stmt *syntax.Stmt) (found bool) {
	syntax.Walk(stmt, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			found = true
		}
		return !found
	})
	return found
}

// quiet reports whether redirections only throw away what a command says about errors.
func quiet(list []*syntax.Redirect) bool {
	for _, r := range list {
		if r.N == nil || r.N.Value != "2" || r.Op != syntax.RdrOut || r.Word.Lit() != "/dev/null" {
			return false
		}
	}
	return true
}
