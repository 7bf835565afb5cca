package runs

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/obeys"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
)

// invocation is one run whose words are read with its entry of the program table.
type invocation struct {
	b         *Builder
	at        Setting
	index     int    // of the run's effect
	asWritten string // the program, as written
	run       *effects.Run
	args      []effects.Word
	p         *programs.Program // the program, then its sub-command

	subs              []string
	flags             []string
	operands          []int           // indices in args
	dashes            int             // number of operands before --, -1 without one
	paths             int             // number of operands, not options, that are paths
	deferred          []deferredValue // values of options that are applied after the operands
	disturbs          []string        // paths that have another meaning from now on
	harms             harms
	changes           bool   // something changes a file, or may do so
	tooManyEffects    bool   // there were too many effects
	wrapperDoesMore   bool   // a wrapper does more than run its command
	unparsed          bool   // the rest of the words is not parsed
	unknownSub        bool   // the table does not have the sub-command
	unclear           bool   // it is not certain which words are operands
	send              bool   // a connection may send data
	searchesHidden    bool   // a search includes hidden names
	linked            bool   // the word expands to paths with links among them
	linkedAs          string // how the names of the links end that find passes
	followed          []paths.Followed
	searchesNoSecrets bool   // a search reads only names that are not those of secrets
	unpackTo          int    // the word with the folder to unpack to, if unpackIn is set
	unpackIn          string // that folder
	filled            bool
	backupSuffix      string          // what the names of copies of written files end with
	method            string          // the method of a request, if one is given
	queryParams       []deferredValue // parameters of a request
	makeTargets       []effects.Word  // targets of a makefile
	makeWords         int             // the number of these, and of variables for them
	makePrograms      []string        // values of these, which may be programs
	targetFiles       []string        // makefiles that are named
	foreign           string          // why git does not work on the project's repository, "" if it does
	tree              string          // the working tree that it looks at instead, "" if not known

	plainGo bool // go list prints only names, and what it does not understand

	obeyed     obeys.Run // once it is needed
	subsMemory [4]string
}

// deferredValue is an option's value that is applied after the operands.
type deferredValue struct {
	role programs.Role
	arg  int
	word effects.Word
}

// full reports whether the words exceed the bound on effects, for which it asks once:
// the rest need not be examined.
func (v *invocation) full() bool {
	most := min(maxRunEffects, max(16, maxRunWords/(len(v.args)+1)))
	if v.b.Rest != nil {
		most = MaxRest
	}
	if len(v.b.Effects)-v.index <= most {
		return false
	}
	if !v.tooManyEffects {
		v.tooManyEffects = true
		if v.b.Rest == nil {
			v.b.deferWords(append([]effects.Word{effects.LiteralWord(v.asWritten)}, v.args...), v.at)
		}
		v.unknown(len(v.args)-1, "more words than permd follows")
		v.markHarmfulFrom(0)
	}
	return true
}

// unknown adds an Unknown effect for a word.
func (v *invocation) unknown(i int, why string) {
	v.changes, v.send = true, true // it may send what the run reads
	v.markHarmful(i)
	if v.args[i].Glob {
		v.run.Args[i] = effects.DynamicWord
	}
	v.b.UnknownArg(v.index, i, v.at.From, why)
}

func (v *invocation) dynamicWord(i int) {
	v.unknown(i, "an argument that is not known before it runs: "+display.Display(display.ShowWord(&v.args[i])))
}

// listedProgram reads the words of a program that the table has.
func (v *invocation) listedProgram(p *programs.Program) {
	v.p, v.dashes = p, -1
	switch p.Style {
	case programs.StyleFind:
		v.find()
	case programs.StyleTest:
		v.test()
	case programs.StyleAssign:
		v.assignments()
	case programs.StyleGNU, programs.StyleWords, programs.StylePS:
		v.readWords()
		v.optionFiles()
		v.storeOperands()
	default: // a style without a reader must not make a run harmless
		v.unexplainedTail(0)
	}
	p = v.p
	if len(v.subs) > 0 {
		v.run.Subcommand = strings.Join(v.subs, " ")
	}
	v.operandEffects()
	if p.Text {
		for i := range v.args {
			v.namesBelow(i, v.args[i])
		}
	}
	if p.Wrapper != nil && (len(v.subs) > 0 || p.Wrapper.Elsewhere) {
		v.innerCommand()
	}
	v.fields()
	v.implicitEffects()
	v.compilerOutputs()
	v.goSources()
	v.readsThroughLinks()
	for flag, more := range p.Implies {
		if v.has([]string{flag}) {
			v.flags = append(v.flags, more...)
		}
	}
	// Operands can become flags (+refspec).
	slices.Sort(v.flags)
	v.flags = slices.Compact(v.flags)
	v.run.Flags = v.flags
	v.readonly()
	v.opens()
	v.opensThroughLinks()
	v.compilerOpens()
	if v.run.Program == "ar" && v.has([]string{"-M"}) {
		v.mayDoInput()
	}
	v.disturb()
	if p.Interpreter != "" {
		v.standardInput()
	}
	if p.Unknown != "" {
		v.b.Unknown(v.at.From, p.Unknown)
		v.run.Readonly = false
		v.mayDoOperands()
	}
	v.input()
}

// input handles the program's standard input: it is data, unless the program executes
// it or the table does not say.
func (v *invocation) input() {
	if v.at.Stdin == effects.StdinNone || v.at.Stdin == "" {
		return
	}
	shell := &v.b.Table.Shell
	switch {
	case v.p.ObeysInput:
		v.b.Unknown(v.at.From, "a program that does what it reads")
	case v.run.Readonly && v.p.Wrapper == nil && shell.Shipped[v.run.Program] && !shell.DataInput[v.run.Program]:
		v.b.Unknown(v.at.From, "a program that may do what it reads")
	default:
		return
	}
	v.run.Readonly = false
}

// readWords reads options, sub-commands and operands in the order in which the program
// does.
func (v *invocation) readWords() {
	for r := v.p.Read(v.args); r.More() && !v.unparsed && !v.full(); {
		a := r.Next()
		if a.Kind == programs.ArgPattern && !v.patternWord(a.Index) {
			a = r.Literal(a)
		}
		switch i := a.Index; a.Kind {
		case programs.ArgText:
		case programs.ArgCommand:
			v.wrapperOperand(i)
		case programs.ArgUnknown:
			v.dynamicOption(i)
		case programs.ArgPattern:
			v.unclear = true
			if v.p.Subs == nil && v.p.Wrapper == nil && v.p.Interpreter == "" {
				r.Operand(a)
				v.operands = append(v.operands, i)
			}
		case programs.ArgDashes:
			v.dashes = len(v.operands)
		case programs.ArgOptions:
			v.options(&r, i)
		case programs.ArgNumber:
		case programs.ArgSub:
			v.subcommand(&a)
		case programs.ArgOperand, programs.ArgOperator, programs.ArgLinks, programs.ArgExec:
			v.operands = append(v.operands, i)
			if v.p.Wrapper != nil && !a.Fixed {
				v.wrapperOperand(i)
			}
		}
	}
}

// storeOperands stores the operands in the run, if it is certain which these are.
func (v *invocation) storeOperands() {
	if v.unclear || v.unparsed || v.tooManyEffects || v.p.Text || v.p.Wrapper != nil {
		return
	}
	operands := make([]string, 0, len(v.operands))
	for _, i := range v.operands {
		if w := &v.args[i]; w.Dynamic() || w.Glob || strings.HasPrefix(w.Text, "-") {
			return // it may be an option, or the program treats its words itself
		}
		operands = append(operands, v.run.Args[i])
	}
	v.run.Operands = operands
}

// wrapperOperand handles an assignment before the wrapped command; the words of the
// command have effects of their own.
func (v *invocation) wrapperOperand(i int) {
	w := &v.args[i]
	if !v.p.Wrapper.Assignments || w.Dynamic() || v.wrapperDoesMore {
		return
	}
	if w.Text == "-" { // as -i
		v.unknown(i, "an environment without the variables of the session")
		return
	}
	name, value, ok := strings.Cut(w.Text, "=")
	if !ok {
		v.wrapperDoesMore = true // the command begins here
		return
	}
	if !v.b.Table.HarmlessAssignment(name, value) {
		v.markHarmful(i)
		v.b.Add(effects.Effect{
			Kind: effects.KindState, From: v.at.From, Why: "sets the variable " + name, Text: display.Display(display.ShowWord(w)),
			Via: &effects.Via{Effect: v.index, Arg: i}, Undescribed: v.b.Table.RunsUndescribed(name, value),
		})
	}
}

// subcommand enters a sub-command.
func (v *invocation) subcommand(a *programs.Arg) {
	i, sub := a.Index, a.Sub
	w := &v.args[i]
	if v.harms.last(i) {
		// It may be an option's value, and the next word the sub-command.
		if i+1 < len(v.args) {
			v.markHarmful(i + 1)
		}
		v.harms.options = max(v.harms.options, i+2)
	}
	switch {
	case w.Expandable():
		v.dynamicWord(i)
		v.unparsed = true
	case sub != nil:
		v.subs = append(v.subs, a.Name)
		v.markHarmful(i)
		v.p = sub
		if sub.RunsItself() {
			v.operands = append(v.operands, i)
		}
	case v.p.SubOptional:
		v.operands = append(v.operands, i)
	case v.p.Open || v.p.OpenSubs:
		// The words are read like those of an unknown program: it may be a plugin.
		v.runsUndescribed()
		v.unknownSub = true
		v.subs = append(v.subs, w.Text)
		v.changes = true
		v.markHarmful(i)
		v.unexplainedTail(i + 1)
	default:
		// An alias, an extension, or newer than the table.
		v.unknownSub = true
		v.unknown(i, "a sub-command that the program table does not have: "+display.Display(display.ShowWord(w)))
		v.subs = append(v.subs, w.Text)
		v.unparsed = true
		v.markHarmfulFrom(i)
	}
}

// dynamicOption handles a word whose text is not known, at a position where an option
// may be.
func (v *invocation) dynamicOption(i int) {
	w := &v.args[i]
	v.dynamicWord(i)
	if w.Tree {
		return
	}
	v.unclear = true
	if v.p.Interpreter == "shell" && w.Guess != "" {
		// bash -c "$(…)", bash <(…)
		v.b.AddLikely(w.Guess, v.run.Cwd, v.at.From)
	}
}

// lateOption undoes options after the first operand that would keep the program from
// unpacking: unzip reads them there as names in the archive, and therefore unpacks.
// Only the folder to unpack to and exclusions may follow.
func (v *invocation) lateOption(i, known int) {
	if len(v.p.UnpacksUnless) == 0 || len(v.operands) == 0 {
		return
	}
	for _, f := range v.flags[min(known, len(v.flags)):] {
		if slices.Contains(v.p.UnpacksUnless, f) {
			v.unknown(i, "an option behind the archive, where it is the name of a file in it: "+display.Display(display.ShowWord(&v.args[i])))
			v.flags = v.flags[:known]
			return
		}
	}
}
