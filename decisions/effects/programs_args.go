package effects

import (
	"slices"
	"strings"

	"github.com/permd/permd/internal/chars"
)

// invocation is one run whose words are taken apart by the program table.
type invocation struct {
	b     *builder
	at    setting
	index int    // of the run's effect
	given string // the program, as it was written
	run   *Run
	args  []word
	p     *program // the program, then its sub-command

	subs     []string
	flags    []string
	operands []int    // indexes in args
	dashes   int      // how many operands stand before --, -1 without one
	paths    int      // how many operands, not options, named paths
	later    []later  // values of options that are applied after the operands
	disturbs []string // paths that mean something else from now on
	harms    harms
	changes  bool     // something is known or feared to change something
	over     bool     // there were too many effects
	odd      bool     // a wrapper does more than run its command
	dead     bool     // the rest of the words is not understood
	unclear  bool     // which words are operands is not certain
	send     bool     // what connects may send something
	wide     bool     // a search goes into hidden names, too
	linked   bool     // links are among the paths that a word stands for
	followed []string // folders in which the run follows links
	narrow   bool     // a search goes only into names that hold no secret
	unpackTo int      // the word that names where an archive is unpacked, if filled is set
	unpackIn string   // that folder
	filled   bool
	method   string  // the method of a request, if one is given
	asked    []later // parameters of a request
}

// later is an option's value that waits for the operands.
type later struct {
	act  act
	arg  int
	word word
}

// full reports whether the words have more effects than are followed, and asks:
// the rest of them need not be looked at then.
func (v *invocation) full() bool {
	most := min(maxRunEffects, max(16, maxRunWords/(len(v.args)+1)))
	if v.b.rest != nil {
		most = maxRest
	}
	if len(v.b.effects)-v.index <= most {
		return false
	}
	if !v.over {
		v.over = true
		if v.b.rest == nil {
			v.b.overWords(append([]word{literalWord(v.given)}, v.args...), v.at)
		}
		v.unknown(len(v.args)-1, "more words than permd follows")
		v.harmFrom(0)
	}
	return true
}

// unknown adds an Unknown effect for a word.
func (v *invocation) unknown(i int, why string) {
	v.changes = true
	v.harm(i)
	if v.args[i].glob {
		v.run.Args[i] = DynamicWord
	}
	v.b.unknownArg(v.index, i, v.at.from, why)
}

func (v *invocation) dynamicWord(i int) {
	v.unknown(i, "an argument that is not known before it runs: "+Display(showWord(&v.args[i])))
}

// known takes apart the words of a program of the table.
func (v *invocation) known(p *program) {
	v.p, v.dashes = p, -1
	switch p.style {
	case styleFind:
		v.find()
	case styleTest:
		v.test()
	case styleAssign:
		v.assignments()
	default:
		v.words()
		v.tellOperands()
	}
	p = v.p
	if len(v.subs) > 0 {
		v.run.Subcommand = strings.Join(v.subs, " ")
	}
	v.operandEffects()
	if p.wrapper != nil && (len(v.subs) > 0 || p.wrapper.elsewhere) {
		v.inner()
	}
	v.fields()
	v.implicitEffects()
	v.strays()
	for flag, more := range p.implies {
		if v.has([]string{flag}) {
			v.flags = append(v.flags, more...)
		}
	}
	// Operands can stand for options (+refspec).
	slices.Sort(v.flags)
	v.flags = slices.Compact(v.flags)
	v.run.Flags = v.flags
	v.readonly()
	v.disturb()
	if p.interpreter != "" {
		v.standardInput()
	}
	if p.unknown != "" {
		v.b.unknown(v.at.from, p.unknown)
		v.run.Readonly = false
	}
	v.input()
}

// input handles what the program reads from its standard input: data, unless it
// does what that says, or nobody decided.
func (v *invocation) input() {
	if v.at.stdin == StdinNone || v.at.stdin == "" {
		return
	}
	shell := &v.b.table.shell
	switch {
	case v.p.obeysInput:
		v.b.unknown(v.at.from, "a program that does what it reads")
	case v.run.Readonly && v.p.wrapper == nil && shell.shipped[v.run.Program] && !shell.dataInput[v.run.Program]:
		v.b.unknown(v.at.from, "a program that may do what it reads")
	default:
		return
	}
	v.run.Readonly = false
}

// words reads options, sub-commands and operands.
func (v *invocation) words() {
	for i := 0; i < len(v.args) && !v.dead && !v.full(); i++ {
		w := &v.args[i]
		if v.p.text {
			continue
		}
		if v.p.wrapper != nil && v.p.stop && len(v.operands) > 0 {
			v.wrapperOperand(i)
			continue
		}
		options := v.dashes < 0 && (!v.p.stop || len(v.operands) == 0)
		switch {
		case !options:
			v.operands = append(v.operands, i)
		case w.dynamic() && (w.split || w.prefix == "" || w.prefix[0] == '-'):
			i += v.dynamicOption(i)
		case v.patternWord(i):
			v.unclear = true
			if v.p.subs == nil && v.p.wrapper == nil && v.p.interpreter == "" {
				v.operands = append(v.operands, i)
			}
		case w.text == "--":
			v.dashes = len(v.operands)
		case len(w.text) > 1 && w.text[0] == '-':
			known := len(v.flags)
			at := i
			i += v.option(i)
			v.lateOption(at, known)
		case w.tree && v.p.dashless && i == 0:
			v.dynamicWord(i)
		case v.p.dashless && i == 0 && w.text != "" && chars.IsLetter(w.text[0]):
			i += v.bundle(i, "-"+w.text)
		case v.p.subs != nil && len(v.operands) == 0:
			v.subcommand(i)
		default:
			v.operands = append(v.operands, i)
			if v.p.wrapper != nil {
				v.wrapperOperand(i)
			}
		}
	}
}

// tellOperands notes the operands in the run, if it is certain which they are.
func (v *invocation) tellOperands() {
	if v.unclear || v.dead || v.over || v.p.text || v.p.wrapper != nil {
		return
	}
	operands := make([]string, 0, len(v.operands))
	for _, i := range v.operands {
		if w := &v.args[i]; w.dynamic() || w.glob || strings.HasPrefix(w.text, "-") {
			return // it may be an option, or words of the program's own
		}
		operands = append(operands, v.run.Args[i])
	}
	v.run.Operands = operands
}

// wrapperOperand handles an assignment before the wrapped command; the words
// of the command have effects of their own.
func (v *invocation) wrapperOperand(i int) {
	w := &v.args[i]
	if !v.p.wrapper.assignments || w.dynamic() || v.odd {
		return
	}
	name, value, ok := strings.Cut(w.text, "=")
	if !ok {
		v.odd = true // the command begins here
		return
	}
	if !v.b.table.HarmlessAssignment(name, value) {
		v.harm(i)
		v.b.add(Effect{
			Kind: KindState, From: v.at.from, Why: "sets the variable " + name, Text: Display(showWord(w)),
			Via: &Via{Effect: v.index, Arg: i},
		})
	}
}

// subcommand goes down to a sub-command.
func (v *invocation) subcommand(i int) {
	w := &v.args[i]
	sub := v.p.sub(w.text)
	if v.harms.last(i) {
		// It may be the value of an option, and the sub-command be the next word.
		if i+1 < len(v.args) {
			v.harm(i + 1)
		}
		v.harms.options = max(v.harms.options, i+2)
	}
	switch {
	case w.open():
		v.dynamicWord(i)
		v.dead = true
	case sub != nil:
		name := w.text
		if real := sub.aliases[name]; real != "" {
			name = real
		}
		v.subs = append(v.subs, name)
		v.harm(i)
		v.p = sub
		if sub.wrapper != nil && sub.wrapper.itself {
			v.operands = append(v.operands, i)
		}
	case v.p.subOptional:
		v.operands = append(v.operands, i)
	case v.p.open || v.p.openSubs:
		// Words that no table explains, as those of a program without one.
		v.subs = append(v.subs, w.text)
		v.changes = true
		v.harm(i)
		v.tail(i + 1)
	default:
		// An alias, an extension, or newer than the table.
		v.unknown(i, "a sub-command that the program table does not have: "+Display(showWord(w)))
		v.subs = append(v.subs, w.text)
		v.dead = true
		v.harmFrom(i)
	}
}

// dynamicOption handles a word of unknown text where an option may stand.
func (v *invocation) dynamicOption(i int) int {
	w := &v.args[i]
	if !w.split && strings.HasPrefix(w.prefix, "--") && v.p.style == styleGNU {
		// "--format=$(…)" in quotes: the option is known, its value is not.
		if name, _, ok := strings.Cut(w.prefix, "="); ok {
			if o := v.p.options[name]; o != nil && o.arity != arityNone {
				v.flag(o)
				v.value(o, i, word{text: DynamicWord, shown: w.shown})
				return 0
			}
		}
	}
	v.dynamicWord(i)
	v.unclear = true
	if v.p.interpreter == "shell" && w.guess != "" {
		// bash -c "$(…)", bash <(…)
		v.b.glimpse(w.guess, v.run.Cwd, v.at.from)
	}
	return 0
}

// lateOption takes back the options of a word behind the first operand that would
// keep the program from unpacking: unzip reads them there as names in the archive,
// and so unpacks. Only the archive's folder and what is left out may stand there.
func (v *invocation) lateOption(i, known int) {
	if len(v.p.unpacksUnless) == 0 || len(v.operands) == 0 {
		return
	}
	for _, f := range v.flags[min(known, len(v.flags)):] {
		if slices.Contains(v.p.unpacksUnless, f) {
			v.unknown(i, "an option behind the archive, where it is the name of a file in it: "+Display(showWord(&v.args[i])))
			v.flags = v.flags[:known]
			return
		}
	}
}
