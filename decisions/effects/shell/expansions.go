package shell

import (
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/runs"
)

// substitutions adds the effects of all commands in a node: $(…), backquotes, <(…) and
// >(…), at any depth of quotes and expansions.
func (s *walker) substitutions(n syntax.Node, at *scope, in runs.Input) {
	if s.oneByOne {
		return // the substitution walks its own content
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			s.withInput(in, func(in runs.Input) {
				in.Redirected = !n.ReplyVar
				s.outOfLoops(func() { s.stmts(n.Stmts, at.subshell(), in) })
			})
			if n.TempFile || n.ReplyVar {
				s.unknown("a substitution of another shell")
			}
			return false
		case *syntax.ProcSubst:
			first, stdin := len(s.b.Effects), in
			if n.Op != syntax.CmdIn {
				stdin = runs.Input{Kind: effects.StdinPipe}
			}
			start := at.subshell()
			s.walkConcurrent(func() {
				s.withInput(stdin, func(in runs.Input) {
					in.Redirected = n.Op == syntax.CmdIn
					s.outOfLoops(func() { s.stmts(n.Stmts, start, in) })
				})
			})
			if n.Op != syntax.CmdIn {
				s.sinks = append(s.sinks, sink{first, len(s.b.Effects)})
			}
			return false
		}
		return true
	})
}

// withInput walks something that reads standard input, once with each input that it may
// have.
func (s *walker) withInput(in runs.Input, walk func(in runs.Input)) {
	own := in.Own
	in.Own = nil
	first := len(s.b.Effects)
	if walk(in); own == nil || s.boundReached() {
		return
	}
	next := len(s.b.Effects)
	if walk(*own); sameEffects(s.b.Effects[first:next], s.b.Effects[next:], next-first) {
		s.b.Effects = s.b.Effects[:next]
	}
}

// unsafeExpansion reports whether a word holds an expansion that evaluates a variable's
// value as code (${x@P}, ${!x}, arithmetic on names and subscripts), is code to another
// shell, or sets a variable (${x:=y}).
func (s *walker) unsafeExpansion(w *syntax.Word, at *scope) bool {
	unsafe := false
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.ArithmExp:
			unsafe = unsafe || !plainArithmetic(n.X) && !s.calculates(n, at)
		case *syntax.ExtGlob:
			unsafe = true // in zsh *(e:'…':) runs code
		case *syntax.Word:
			unsafe = unsafe || hasZshSubscript(n.Parts)
		case *syntax.DblQuoted:
			unsafe = unsafe || hasZshSubscript(n.Parts)
		case *syntax.ParamExp:
			unsafe = unsafe || unsafeParam(n)
		}
		return !unsafe
	})
	return unsafe
}

func unsafeParam(p *syntax.ParamExp) bool {
	if p.Excl && p.Names == 0 || p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 {
		return true
	}
	if p.Index != nil && !plainSubscript(p.Index) {
		return true
	}
	if p.Slice != nil && (!plainArithmetic(p.Slice.Offset) || !plainArithmetic(p.Slice.Length)) {
		return true
	}
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.OtherParamOps:
			return true
		}
	}
	return false
}

func plainSubscript(x syntax.ArithmExpr) bool {
	if w, ok := x.(*syntax.Word); ok {
		if lit := w.Lit(); lit == "@" || lit == "*" {
			return true
		}
	}
	return plainArithmetic(x)
}

// plainArithmetic reports whether an expression contains only numbers.
func plainArithmetic(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case nil:
		return true
	case *syntax.Word:
		lit := x.Lit()
		if lit == "" {
			return false
		}
		return strings.Trim(lit, "0123456789") == ""
	case *syntax.ParenArithm:
		return plainArithmetic(x.X)
	case *syntax.UnaryArithm:
		return x.Op != syntax.Inc && x.Op != syntax.Dec && plainArithmetic(x.X)
	case *syntax.BinaryArithm:
		return plainArithmetic(x.X) && plainArithmetic(x.Y)
	}
	return false
}

// ansiC decodes the inside of $'…' as bash does. ok is false if the value contains a NUL
// or invalid UTF-8, an escape that bash does not document, or one whose bytes depend on
// the locale.
func ansiC(value string) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' {
			out.WriteByte(value[i])
			continue
		}
		if i++; i >= len(value) {
			return "", false
		}
		switch c := value[i]; c {
		case 'a':
			out.WriteByte('\a')
		case 'b':
			out.WriteByte('\b')
		case 'e', 'E':
			out.WriteByte(0x1b)
		case 'f':
			out.WriteByte('\f')
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 't':
			out.WriteByte('\t')
		case 'v':
			out.WriteByte('\v')
		case '\\', '\'', '"', '?':
			out.WriteByte(c)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n, used := digits(value[i:], 8, 3)
			out.WriteByte(byte(n))
			i += used - 1
		case 'x', 'u', 'U':
			width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			n, used := digits(value[i+1:], 16, width)
			if used == 0 {
				return "", false
			}
			if c != 'x' && n >= utf8.RuneSelf {
				return "", false
			}
			out.WriteByte(byte(n))
			i += used
		default:
			// \cX and unknown escapes: nobody needs them.
			return "", false
		}
	}
	text := out.String()
	return text, utf8.ValidString(text) && strings.IndexByte(text, 0) < 0
}

// digits reads up to width digits of the base.
func digits(s string, base uint64, width int) (n uint64, used int) {
	for used < width && used < len(s) {
		var d uint64
		switch c := s[used]; {
		case c >= '0' && c <= '9':
			d = uint64(c - '0')
		case c >= 'a' && c <= 'f':
			d = uint64(c-'a') + 10
		case c >= 'A' && c <= 'F':
			d = uint64(c-'A') + 10
		default:
			return n, used
		}
		if d >= base {
			return n, used
		}
		n = n*base + d
		used++
	}
	return n, used
}
