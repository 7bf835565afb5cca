package shell

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects/runs"
)

// activates reports whether a script does nothing but activate the environment whose
// programs are in bin: it sets variables for that purpose and, once, PATH. The scripts
// of all versions of Python's venv pass.
func activates(b *runs.Builder, text, bin string) bool {
	if shellBounds(text) != "" || !asciiLines(text) {
		return false
	}
	// Such scripts define functions and are no plain text, so constructs that shells are
	// known to read differently are rejected here; node checks everything else.
	for _, sign := range []string{"\\\n", "<<", "<(", ">(", "$'", `$"`, "$[", "=("} {
		if strings.Contains(text, sign) {
			return false
		}
	}
	file, _ := reader.read(text, b.Readers())
	if file == nil {
		return false
	}
	a := activation{b: b, bin: bin, ok: true}
	syntax.Walk(file, func(n syntax.Node) bool {
		a.ok = a.ok && a.node(n)
		f, isFunc := n.(*syntax.FuncDecl)
		return a.ok && (!isFunc || f.Name.Value != "pydoc")
	})
	return a.ok && a.set && a.inPath
}

// asciiLines reports whether a text is ASCII, with backquotes only in comment lines.
func asciiLines(text string) bool {
	for line := range strings.Lines(text) {
		comment := strings.HasPrefix(strings.TrimLeft(line, " "), "#")
		if strings.ContainsFunc(line, func(c rune) bool { return c >= 0x80 || c == '`' && !comment }) {
			return false
		}
	}
	return true
}

// activation is the state of checking a script.
type activation struct {
	b   *runs.Builder
	bin string
	ok  bool
	// set and leads are set when the script has named its environment, and when it has
	// put it into PATH.
	set, inPath bool
	// resets is set when the script has defined deactivate.
	definesDeactivate bool
	// guarded are the assignments that restore a variable's earlier value after a check
	// that it was saved.
	restores []*syntax.Assign
}

// node reports whether a node is of a kind that occurs in such scripts.
func (a *activation) node(n syntax.Node) bool {
	switch n := n.(type) {
	case nil, *syntax.File, *syntax.Word, *syntax.Comment,
		*syntax.CaseClause, *syntax.CaseItem, *syntax.Block, *syntax.TestClause, *syntax.ParenTest:
		return true
	case *syntax.IfClause:
		a.recordRestore(n)
		return true
	case *syntax.DblQuoted:
		return !n.Dollar
	case *syntax.Lit:
		return isInertPrompt(n.Value)
	case *syntax.SglQuoted:
		return !n.Dollar && isInertPrompt(n.Value)
	case *syntax.UnaryTest:
		return n.Op == syntax.TsNempStr || n.Op == syntax.TsEmpStr || n.Op == syntax.TsNot
	case *syntax.BinaryTest:
		return n.Op == syntax.TsMatch || n.Op == syntax.TsMatchShort || n.Op == syntax.TsNoMatch || n.Op == syntax.AndTest || n.Op == syntax.OrTest
	case *syntax.Stmt:
		return !n.Background && !n.Coprocess
	case *syntax.BinaryCmd:
		return n.Op == syntax.AndStmt || n.Op == syntax.OrStmt
	case *syntax.FuncDecl:
		a.definesDeactivate = a.definesDeactivate || n.Name.Value == "deactivate"
		return n.Name.Value == "deactivate" || n.Name.Value == "pydoc" && isPydoc(n)
	case *syntax.Redirect:
		return n.Word != nil && n.Word.Lit() == "/dev/null"
	case *syntax.ParamExp:
		plain := n.Slice == nil && n.Repl == nil && n.Index == nil && n.NestedParam == nil && n.Flags == nil && !n.Excl
		return plain && (n.Exp == nil || n.Exp.Op == syntax.DefaultUnsetOrNull || n.Exp.Op == syntax.DefaultUnset ||
			n.Exp.Op == syntax.AlternateUnsetOrNull || n.Exp.Op == syntax.AlternateUnset)
	case *syntax.CmdSubst:
		return len(n.Stmts) == 1 && !n.Backquotes
	case *syntax.Assign:
		return a.assign(n)
	case *syntax.DeclClause:
		return n.Variant.Value == "export"
	case *syntax.CallExpr:
		return a.call(n)
	}
	return false
}

// savedVariables are the variables that hold the earlier values of others.
var savedVariables = map[string]string{"PATH": "_OLD_VIRTUAL_PATH", "PYTHONHOME": "_OLD_VIRTUAL_PYTHONHOME", "PS1": "_OLD_VIRTUAL_PS1"}

// recordRestore records the assignment of `if [ -n "$_OLD_VIRTUAL_PATH" ]; then
// PATH="$_OLD_VIRTUAL_PATH"`. Without the condition PATH could become empty, which means
// the working folder.
func (a *activation) recordRestore(n *syntax.IfClause) {
	if len(n.Cond) != 1 || len(n.Then) == 0 || n.Cond[0].Negated || len(n.Cond[0].Redirs) > 0 {
		return
	}
	cond, isCall := n.Cond[0].Cmd.(*syntax.CallExpr)
	call, isAssign := n.Then[0].Cmd.(*syntax.CallExpr)
	if !isCall || !isAssign || len(cond.Args) != 4 || len(cond.Assigns) > 0 || len(call.Args) > 0 || len(call.Assigns) != 1 || call.Assigns[0].Name == nil {
		return
	}
	if cond.Args[0].Lit() != "[" || cond.Args[1].Lit() != "-n" || cond.Args[3].Lit() != "]" {
		return
	}
	// Unquoted, the operand could disappear.
	if _, quoted := cond.Args[2].Parts[0].(*syntax.DblQuoted); !quoted {
		return
	}
	if name, ok := savedVariables[call.Assigns[0].Name.Value]; ok && isValueOf(normalWord(cond.Args[2]), name) {
		a.restores = append(a.restores, call.Assigns[0])
	}
}

// isValueOf reports whether a word, as returned by normalWord, is a variable's value.
func isValueOf(word, variable string) bool {
	return word == "${"+variable+"}" || word == "${"+variable+":-}"
}

// assign checks an assignment, or a name that is exported.
func (a *activation) assign(n *syntax.Assign) bool {
	if n.Name == nil || n.Append || n.Index != nil || n.Array != nil || !venvVariables.Has(n.Name.Value) {
		return false
	}
	if n.Naked {
		return true
	}
	value := normalWord(n.Value)
	switch name := n.Name.Value; name {
	case "PATH":
		if value == "${VIRTUAL_ENV}/bin:${PATH}" {
			a.inPath = true
			return true
		}
		return isValueOf(value, savedVariables[name]) && slices.Contains(a.restores, n)
	case "PYTHONHOME":
		return isValueOf(value, savedVariables[name]) && slices.Contains(a.restores, n)
	case "_OLD_VIRTUAL_PATH":
		return isValueOf(value, "PATH")
	case "_OLD_VIRTUAL_PYTHONHOME":
		return isValueOf(value, "PYTHONHOME")
	case "VIRTUAL_ENV":
		if a.isCygwinPath(n.Value) {
			return true
		}
		a.set = a.set || a.isEnvironment(value)
		return a.isEnvironment(value)
	}
	return true
}

// isEnvironment reports whether a word, as returned by normalWord, is the environment's folder. A
// colon in it would end the entry of PATH.
func (a *activation) isEnvironment(value string) bool {
	return value != "" && value == path.Dir(a.bin) && !strings.Contains(value, ":")
}

// isCygwinPath reports whether a word is the environment's folder as converted by
// Cygwin.
func (a *activation) isCygwinPath(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	subst, ok := w.Parts[0].(*syntax.CmdSubst)
	if !ok || len(subst.Stmts) != 1 || len(subst.Stmts[0].Redirs) > 0 {
		return false
	}
	call, ok := subst.Stmts[0].Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) == 2 && call.Args[0].Lit() == "cygpath" && a.isEnvironment(normalWord(call.Args[1]))
}

// call checks a command.
func (a *activation) call(n *syntax.CallExpr) bool {
	if len(n.Args) == 0 {
		return true
	}
	if len(n.Assigns) > 0 {
		return false
	}
	switch name := n.Args[0].Lit(); name {
	case "[", "test":
		// -v and numeric comparisons evaluate subscripts.
		for _, w := range n.Args[1:] {
			if text := unquotedWord(w); strings.HasPrefix(text, "-") && text != "-n" && text != "-z" && text != "-a" && text != "-o" {
				return false
			}
		}
		return true
	case ":", "true":
		return true
	case "unset":
		// Without PATH, a shell looks for programs in its working folder.
		for _, w := range n.Args[1:] {
			if text := w.Lit(); text == "PATH" || text != "-f" && text != "deactivate" && text != "pydoc" && !venvVariables.Has(text) {
				return false
			}
		}
		return true
	case "hash":
		return len(n.Args) == 2 && n.Args[1].Lit() == "-r" // -p would set where a program is
	case "deactivate":
		return a.definesDeactivate && a.absentProgram(name) // the function may be unset again
	case "uname", "cygpath", "basename":
		return a.absentProgram(name)
	}
	return false
}

// absentProgram reports whether no environment has a program of that name: PATH may by now begin
// with this one, or with one that was activated before.
func (a *activation) absentProgram(name string) bool {
	for _, bin := range slices.Concat([]string{a.bin}, a.b.Environments.Activated, a.b.Call.Activated) {
		file := path.Join(bin, name)
		if _, err := a.b.Paths.Lstat(file); bin == "" || !errors.Is(err, fs.ErrNotExist) || a.b.Stale(file) {
			return false
		}
	}
	return true
}

// normalWord returns a word without its quotes and with braces around every variable; "" if it
// contains anything else, or characters that would make that ambiguous.
func normalWord(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var out strings.Builder
	if !writeTyped(&out, w.Parts) {
		return ""
	}
	return out.String()
}

func writeTyped(out *strings.Builder, parts []syntax.WordPart) bool {
	for _, part := range parts {
		var text string
		switch part := part.(type) {
		case *syntax.Lit:
			text = part.Value
		case *syntax.SglQuoted:
			text = part.Value
		case *syntax.DblQuoted:
			if !writeTyped(out, part.Parts) {
				return false
			}
			continue
		case *syntax.ParamExp:
			if part.Param == nil || part.Length || part.Width {
				return false
			}
			out.WriteString("${" + part.Param.Value)
			if e := part.Exp; e != nil {
				if e.Op != syntax.DefaultUnsetOrNull || e.Word != nil && len(e.Word.Parts) > 0 {
					return false
				}
				out.WriteString(":-")
			}
			out.WriteString("}")
			continue
		default:
			return false
		}
		if strings.ContainsAny(text, "\"'`$\\{}~\n") {
			return false
		}
		out.WriteString(text)
	}
	return true
}

// isPydoc reports whether a function only runs the environment's own pydoc.
func isPydoc(n *syntax.FuncDecl) bool {
	var out strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&out, n.Body); err != nil {
		return false
	}
	return strings.Join(strings.Fields(strings.NewReplacer(";", " ", "{", " ", "}", " ", `"`, "").Replace(out.String())), " ") == "python -m pydoc $@"
}

// isInertPrompt reports whether a shell that shows the text as its prompt runs nothing.
func isInertPrompt(text string) bool { return !strings.ContainsAny(text, "$`\\") }

// unquotedWord returns a word without its quotes and braces.
func unquotedWord(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var out strings.Builder
	if err := syntax.NewPrinter().Print(&out, w); err != nil {
		return ""
	}
	return strings.NewReplacer(`"`, "", "'", "", "{", "", "}", "").Replace(out.String())
}
