package runs

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/wordset"
)

// find interprets the words of find: starting points, then an expression.
func (v *invocation) find() {
	for r := v.p.Read(v.args); r.More() && !v.full(); {
		a := r.Next()
		switch i := a.Index; a.Kind {
		case programs.ArgUnknown:
			v.dynamicWord(i)
		case programs.ArgPattern:
			if why := v.patternOption(&v.args[i], findName); why != "" {
				v.unknown(i, why+": "+display.Display(display.ShowWord(&v.args[i])))
			}
			r.Operand(a)
			v.operands = append(v.operands, i)
		case programs.ArgLinks:
			v.flags = append(v.flags, v.args[i].Text)
		case programs.ArgExec:
			use, _ := r.Option()
			v.flag(use.Option)
			v.findCommand(i, a.End)
		case programs.ArgOptions:
			use, _ := r.Option()
			v.primary(&use)
		case programs.ArgOperator:
		case programs.ArgOperand, programs.ArgNumber, programs.ArgDashes, programs.ArgSub, programs.ArgCommand, programs.ArgText:
			v.operands = append(v.operands, i)
		}
	}
	v.found()
}

// found notes what the run prints if that is the paths that it finds, a NUL after each, and
// nothing else. As with -exec, it must not find secrets, nor follow links to folders.
func (v *invocation) found() {
	roots, last := v.findRoots(), len(v.args)-1
	if v.b.Found = nil; last < 0 || v.args[last].Text != "-print0" || v.changes || v.unparsed || v.searchesHidden || len(roots) != 1 || roots[0].Expandable() {
		return
	}
	for _, f := range v.flags {
		if !foundBy.Has(f) {
			return
		}
	}
	if slices.ContainsFunc(v.args[:last], func(w effects.Word) bool { return w.Dynamic() || w.Text == "-print0" }) {
		return
	}
	w := v.foundPath(last, roots[0])
	v.b.Found = &w
}

// foundBy are the parts of find's expression that only choose among paths.
var foundBy = wordset.Fields("-print0 -name -iname -path -ipath -wholename -iwholename -type -maxdepth -mindepth -size -mtime -mmin -empty -not ! -a -and -o -or -prune -xdev -P")

// primary interprets one word of find's expression, with its value.
func (v *invocation) primary(use *programs.OptionUse) {
	i, o := use.Index, use.Option
	if o == nil {
		v.unknown(i, "a part of find's expression that permd does not know: "+display.Display(display.ShowWord(&v.args[i])))
		return
	}
	v.flag(o)
	switch {
	case o.Role == programs.RoleDeletes:
		v.changes = true
		v.markHarmful(i)
		v.deleteRoots(i)
		return
	case use.Form == programs.NoValue:
		v.value(o, i, effects.Word{})
		return
	case use.Form == programs.ValueMissing:
		v.unknown(i, "an option without its value: "+display.Display(use.Name()))
		return
	}
	at := use.Value
	if v.patternValue(o, at); !v.args[at].Glob || o.Role != programs.RoleText {
		v.value(o, at, v.args[at])
	}
	switch o.Canonical {
	case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename":
		v.searchesHidden = v.searchesHidden || paths.ChoosesSecrets(path.Base(v.args[at].Text))
	}
}

func (v *invocation) deleteRoots(i int) {
	roots := v.findRoots()
	for _, root := range roots {
		if root.Dynamic() || root.Glob {
			v.unknown(i, "deletes below a folder that is not known")
			continue
		}
		e := v.b.Operand(effects.KindDelete, root.Text, v.run.Cwd, v.at.From)
		v.b.Add(v.via(i, v.below(e, true, false)))
	}
}

func (v *invocation) findRoots() []effects.Word {
	if len(v.operands) == 0 {
		return []effects.Word{{Text: "."}}
	}
	roots := make([]effects.Word, 0, len(v.operands))
	for _, i := range v.operands {
		roots = append(roots, v.args[i])
	}
	return roots
}

// findCommand adds the run of -exec and similar, whose words end at ; or +. {} is any
// path below the starting points.
func (v *invocation) findCommand(i, end int) {
	v.markHarmful(i)
	v.changes = v.changes || v.args[i].Text != "-exec"
	if end < 0 {
		v.unknown(i, "a command of find that does not end")
		return
	}
	roots := v.findRoots()
	words := slices.Clone(v.args[i+1 : end])
	known := true
	inside := strings.HasSuffix(v.args[i].Text, "dir") // in the folder of each file
	if v.searchesHidden {
		v.unknown(i, "a command for files that may hold secrets")
	}
	for j := range words {
		w := &words[j]
		switch {
		case w.Dynamic() || !strings.Contains(w.Text, "{}"):
		case w.Text == "{}" && !inside && len(roots) == 1 && !roots[0].Dynamic() && !roots[0].Glob && j > 0:
			*w = v.foundPath(i, roots[0])
			w.Several = v.args[end].Text != ";"
		default:
			*w = effects.Word{Text: effects.DynamicWord, Shown: w.Text}
			known = known && j > 0
		}
	}
	if !known || words[0].Dynamic() || words[0].Glob {
		v.unknown(i+1, "a program whose name is not known before it runs")
		return
	}
	at := v.at
	at.Cwd = v.run.Cwd
	if strings.HasPrefix(v.args[i].Text, "-ok") {
		at.Stdin, at.Text, at.Printed = effects.StdinNone, "", "" // find reads the answers to -ok
	}
	at.via = &effects.Via{Effect: v.index, Arg: i + 1}
	if inside {
		at.Cwd = ""
	}
	if inside && strings.Contains(words[0].Text, "/") && words[0].Text[0] != '/' {
		v.unknown(i+1, "a program that is looked up in many folders")
	}
	first := len(v.b.Effects)
	v.b.Command(words, at)
	v.changes = v.changes || !onlyReads(v.b.Effects[first:])
}

// foundPath returns the word for {} in the command at i, below a starting point.
func (v *invocation) foundPath(i int, root effects.Word) effects.Word {
	x := programs.Expression{Program: v.p, Words: v.args}
	if n := len(v.operands); n > 0 {
		x.Begin = v.operands[n-1] + 1
	}
	w := effects.Word{Text: root.Text, Shown: "{}", Tree: true, Linked: true, Plain: x.OnlyNames(i, v.b.Table.PlainPattern)}
	if !v.has([]string{"-L", "-follow"}) { // with them, a link may be a folder on the way
		w.Linked, w.Ending = x.PassesLinks(i), paths.LiteralEnd(x.LastName(i))
	}
	return w
}

// onlyReads reports whether effects are only reads and read-only runs.
func onlyReads(list []effects.Effect) bool {
	for i := range list {
		if e := &list[i]; e.Kind != effects.KindRead && (e.Kind != effects.KindRun || !e.Run.Readonly) {
			return false
		}
	}
	return true
}

// test reads the words of test and [. Only -v and, in some shells, numeric comparisons
// evaluate their operands; a dynamic word must not be able to become such an
// operator.
func (v *invocation) test() {
	for i := range v.args {
		w := &v.args[i]
		switch {
		case w.One, w.Dynamic() && !w.Split && !w.Glob:
			if !programs.IsTestOperand(v.args, i) {
				v.dynamicWord(i)
			}
		case w.Dynamic() && NumericParameter(w.Shown):
		case w.Dynamic(), w.Glob:
			v.dynamicWord(i)
		case w.Text == "-v" || w.Text == "-R" || w.Text == "-o" && i == 0:
			v.unknown(i, "a test that can run code in a subscript")
		case slices.Contains([]string{"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-t"}, w.Text):
			v.numbers(i)
		}
	}
}

// NumericParameter reports whether a shell parameter is always a number.
func NumericParameter(shown string) bool {
	switch strings.Trim(shown, `"`) {
	case "$?", "$#", "$$", "$!", "${#}", "${?}":
		return true
	}
	return false
}

// numbers checks the operands of a numeric comparison.
func (v *invocation) numbers(i int) {
	for _, j := range []int{i - 1, i + 1} {
		if j < 0 || j >= len(v.args) {
			continue
		}
		w := &v.args[j]
		if w.Glob || w.Dynamic() && !NumericParameter(w.Shown) || !w.Dynamic() && strings.ContainsAny(w.Text, "[$`") {
			v.unknown(j, "a test that can run code in a subscript")
		}
	}
}
