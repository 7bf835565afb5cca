package runs

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/internal/wordset"
)

// wrapped handles a program that runs the command in its operands.
func (b *Builder) wrapped(p *programs.Program, words []effects.Word, at Setting) {
	args := words[1:]
	start, more := b.Table.Wrapped(p, args)
	if !p.Wrapper.Transparent || start >= len(args) || more {
		index := b.Run(words, at)
		if start >= len(args) {
			b.markPrintsSecrets(index, words)
			return
		}
		defer func() { display.ConcealWords(b.Effects, index, words, b.Asides, b.Opened) }()
		at.via = &effects.Via{Effect: index, Arg: start}
		if p.Wrapper.Joined && slices.ContainsFunc(args[start:], effects.ChangesWhenReread) {
			b.UnknownArg(index, start, at.From, "words that the program hands to a shell, which reads them once more")
		}
		if p.Wrapper.Appends {
			if b.withCertain(index, args[:start], args[start:], at) {
				return
			}
			b.UnknownArg(index, start, at.From, "arguments that are read while it runs")
			b.withAppended(args[:start], args[start:], at)
			if at.appendsWords = true; !programs.ReadsWordsFile(args[:start]) {
				at.Stdin, at.Text, at.Printed = effects.StdinNone, "", ""
			}
		}
	}
	if p.Wrapper.Assignments {
		defer func(before []string) { b.Variables = before }(b.Variables)
		for i := range args[:start] {
			if w := &args[i]; !w.Expandable() && !strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "=") {
				b.Variables = append(slices.Clip(b.Variables), w.Text)
			}
		}
	}
	name := b.ProgramName(words[0].Text)
	if name == "nohup" {
		b.nohup(at)
	}
	at.Redirected = at.Redirected && keepsOutput.Has(name) || name == "nohup"
	inner := args[start:]
	if at.via != nil && !inner[0].Expandable() && len(inner) > 1 && takesCommand.Has(inner[0].Text) { // flock FILE -c TEXT
		b.Inline(at.via.Effect, start+1, inner[1:2], at, false)
		return
	}
	if inner[0].Expandable() {
		b.Unknown(at.From, "a program whose name is not known before it runs: "+display.Display(display.ShowWord(&inner[0])))
		return
	}
	b.Command(inner, at)
}

// rereadWord handles a word that some versions of a package manager put into a shell's
// text: between double quotes, where commands and variables are substituted (npm 7 and 8,
// npx, pnpm 6), or as it is. Text of a shell in it may run, which denies see.
func (v *invocation) rereadWord(i int) {
	w := &v.args[i]
	if w.Dynamic() || w.Glob {
		return // it asks as such
	}
	v.mayReread(i)
	if plainshell.Substitutes(w.Text) {
		v.unknown(i, "a word that may reach a shell, which substitutes in it: "+display.Display(display.ShowWord(w)))
	}
}

// mayReread defers a word to the rest of the call that a shell would read as more than
// one word.
func (v *invocation) mayReread(i int) {
	if w := &v.args[i]; !w.Dynamic() && !w.Glob && strings.ContainsAny(w.Text, "$`;&|<>()\n\\\"") {
		v.mayRunText(w.Text)
	}
}

// joinsWords are the package managers of which a version joins the words of a package's
// program into a shell's text.
var joinsWords = wordset.Fields("npm npx pnpm pnpx yarn")

// innerCommand adds the effects of the command of a sub-command that wraps one (uv run, docker
// exec), or of a program that runs it on another machine.
func (v *invocation) innerCommand() {
	w := v.p.Wrapper
	if v.unparsed || len(v.operands) == 0 {
		return
	}
	start := v.operands[0] + w.Skip
	before := v.operands
	if w.Dashes {
		if v.dashes < 0 || v.dashes >= len(v.operands) {
			start = len(v.args)
		} else {
			start, before = v.operands[v.dashes], v.operands[:v.dashes]
		}
	}
	for n, i := range before {
		if i < start {
			spec := programs.OperandAt(v.p.Operands, n, len(before))
			if spec == nil {
				v.unknown(i, "an operand that permd does not know: "+display.Display(display.ShowWord(&v.args[i])))
				continue
			}
			v.apply(spec.Role, i, v.args[i], false, false)
		}
	}
	if w.Skip > 0 && !w.Dashes {
		for i := v.operands[0] + 1; i < min(start, len(v.args)); i++ {
			v.apply(programs.RoleText, i, v.args[i], false, false)
		}
	}
	if start >= len(v.args) {
		return
	}
	v.changes = true
	first := &v.args[start]
	if w.Elsewhere {
		// ssh reads options again after the host, with -oProxyCommand=CMD among them.
		if w.Joined && v.dashes != 0 && first.Text != "--" && (strings.HasPrefix(first.Text, "-") || strings.HasPrefix(first.Prefix, "-")) {
			v.unknown(start, "options after the host: "+display.Display(display.ShowWord(first)))
			return
		}
		if v.remoteCommand(start); v.run.Program == "chroot" { // which may be to the root of this machine
			v.b.possibly("", v.args[start:], v.run.Cwd, v.at)
		}
		return
	}
	if first.Expandable() || strings.HasPrefix(first.Text, "-") {
		v.unknown(start, "a program whose name is not known before it runs: "+display.Display(display.ShowWord(first)))
		return
	}
	if w.Joined && slices.ContainsFunc(v.args[start:], effects.ChangesWhenReread) {
		v.unknown(start, "words that the program hands to a shell, which reads them once more")
	}
	// It depends on this run which program the name finds there, in an environment or
	// among a project's own scripts.
	v.markHarmful(start)
	if strings.Contains(first.Text, "://") {
		v.connect(programs.RoleConnects, start, *first)
		return
	}
	at := v.at
	at.Cwd, at.via, at.Redirected = v.run.Cwd, &effects.Via{Effect: v.index, Arg: start}, false
	if at.wrappers++; at.wrappers > maxWrappers {
		v.unknown(start, effects.TooManyWithin)
		v.b.deferWrapped(v.args[start:], at)
		return
	}
	words := v.args[start:]
	if w.Scripts && strings.HasSuffix(first.Text, ".py") {
		words = append([]effects.Word{effects.LiteralWord("python")}, words...)
	}
	v.b.Command(words, at)
}

// remoteCommand adds the runs of a command on another machine or in a container, for rules
// to see. Its paths are not those of this machine, so only its runs and connections are
// kept, and whoever allows it must spell out its words.
func (v *invocation) remoteCommand(start int) {
	v.markHarmfulFrom(start)
	first := len(v.b.Effects)
	rearranged, disturbed, lost, quiet := v.b.Rearranged, v.b.Paths.Disturbed, v.b.Paths.Unknown, v.b.Nothing
	at := v.at
	at.Cwd, at.via, at.Text = "/", nil, ""
	if at.wrappers++; at.wrappers > maxWrappers {
		v.unknown(start, effects.TooManyWithin)
		return
	}
	defer func(before bool) { v.b.Remote = before }(v.b.Remote)
	v.b.Remote = true
	known := true
	parts := make([]string, 0, len(v.args)-start)
	for i := start; i < len(v.args); i++ {
		if v.args[i].Expandable() {
			v.dynamicWord(i)
			known = false
		}
		parts = append(parts, v.args[i].Text)
	}
	switch {
	case !known:
		return
	case v.p.Wrapper.Joined:
		outer := v.b.Input
		v.b.Input = Input{Kind: at.Stdin}
		v.b.WithShells(plainshell.All, func() { v.b.texts.TextIn(v.b, strings.Join(parts, " "), "/", v.at.From) })
		v.b.Input = outer
	default:
		v.b.Command(v.args[start:], at)
	}
	kept := v.b.Effects[:first]
	for _, e := range v.b.Effects[first:] {
		switch e.Kind {
		case effects.KindRead, effects.KindWrite, effects.KindDelete:
			continue
		case effects.KindRun:
			e.Run.Cwd, e.Run.Script, e.Tags = "", nil, effects.TagsOf(effects.Outside)
			if e.Run.WithoutOverlay != nil {
				e.Run.WithoutOverlay.Cwd = ""
			}
		case effects.KindConnect, effects.KindUse, effects.KindState, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
		}
		e.Via = &effects.Via{Effect: v.index, Arg: len(v.args) - 1}
		kept = append(kept, e)
	}
	v.b.Effects = kept
	v.b.Rearranged, v.b.Paths.Disturbed, v.b.Paths.Unknown, v.b.Nothing = rearranged, disturbed, lost, quiet
}

// inline handles code that an interpreter is given as a word.
func (v *invocation) inline(a argument) {
	v.markHarmful(a.i)
	v.changes = true
	if v.p.Interpreter == "shell" {
		v.b.WithShells(v.shells(a.i), func() { v.b.Inline(v.index, a.i, []effects.Word{a.w}, v.at, false) })
		return
	}
	v.unknown(a.i, "code given inline")
	v.unexplainedTail(a.i + 1)
}

// shells returns the shell that an invocation starts for the text in a word, unless
// options before it change the language, as bash -O extglob does.
func (v *invocation) shells(text int) plainshell.Shells {
	shells := plainshell.Named(v.run.Program)
	for i := 0; i < text && i < len(v.args); i++ {
		switch word := v.args[i].Text; word {
		case "--", "--login", "--noprofile", "--norc":
		case "--posix":
			shells |= plainshell.Sh
		default:
			if len(word) < 2 || word[0] != '-' || strings.Trim(word[1:], "cefluvxn") != "" || strings.Contains(word, "f") && shells != plainshell.Zsh {
				return plainshell.NotRead
			}
		}
	}
	return shells
}

// runModule handles the name of a module that an interpreter runs.
func (v *invocation) runModule(a argument) {
	if a.w.Dynamic() || a.w.Glob {
		v.dynamicWord(a.i)
	}
	v.markHarmful(a.i)
	v.changes = true
	if !v.module(a.i, a.w.Text) {
		if !slices.Contains(v.p.CountsAsDescribed, a.w.Text) {
			v.runsUndescribed()
		}
		v.unexplainedTail(a.i + 1)
	}
}

// commandLine handles a command line. Some programs pass it to sh, others to the person's
// own shell.
func (v *invocation) commandLine(a argument) {
	v.changes = true
	v.markHarmful(a.i)
	at := v.at
	at.Redirected = false // script gives its command a terminal
	v.b.WithShells(plainshell.All, func() { v.b.nested(v.index, a.i, a.w.Text, at) })
}

// module runs a module of an interpreter that is a program in the table (python -m
// pytest) as that program.
func (v *invocation) module(i int, name string) bool {
	v.run.Tool = v.p.Modules[name]
	return v.runAsProgram(i, v.run.Tool)
}

// tool handles a program that is run by name from the project's packages, or fetched
// (npx). The table's entry of that name gives the effects of its words; whether it may
// run at all is decided by this run.
func (v *invocation) tool(i int, w effects.Word) {
	v.markHarmful(i)
	v.changes = true
	if w.Dynamic() || w.Glob {
		v.dynamicWord(i)
		return
	}
	if !v.toolIsDescribed(&w) {
		v.runsUndescribed()
	}
	if v.b.Table.Program(w.Text) != nil {
		v.run.Tool = w.Text
	} else if v.p.Targets == "" || len(v.subs) > 0 {
		v.run.Unbound = "what " + display.Display(w.Text) + " runs is decided by files that permd does not know"
	}
	if joinsWords.Has(v.run.Program) {
		for n := i; n < len(v.args); n++ {
			v.rereadWord(n)
		}
	}
	if v.p.Targets != "" {
		// A script of the project may have the name of any program.
		v.target(programs.RoleTarget, i, w)
		return
	}
	if !v.runAsProgram(i, w.Text) {
		if strings.ContainsAny(w.Text, ":/") {
			v.packageSpec(i, w)
		}
		v.unexplainedTail(i + 1)
	}
}

// runAsProgram adds the run of a program in the table with the words after i.
func (v *invocation) runAsProgram(i int, program string) bool {
	if program == "" || v.b.Table.Program(program) == nil {
		return false
	}
	at := v.at
	at.Cwd, at.via, at.Redirected = v.run.Cwd, &effects.Via{Effect: v.index, Arg: i}, false
	if at.wrappers++; at.wrappers > maxWrappers {
		v.unknown(i, effects.TooManyWithin)
		return false
	}
	v.b.Command(append([]effects.Word{effects.LiteralWord(program)}, v.args[i+1:]...), at)
	v.unparsed = true
	return true
}
