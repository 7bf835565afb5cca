package runs

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/foreign"
	"github.com/permd/permd/internal/wordset"
)

const (
	// maxRunEffects bounds the effects of the words of one command, and maxRunWords the
	// words that rules may then see: rules see all words of a run with each of its
	// effects.
	maxRunEffects = 256
	maxRunWords   = 256 << 10
	// maxGuardedWord is the maximum length of a word that is looked up as a path, in
	// bytes.
	maxGuardedWord = 512
	// maxWrappers bounds the nesting of wrapped commands.
	maxWrappers = 8
)

// Setting is the working folder and input of a command.
type Setting struct {
	Cwd   string // "" if not known
	From  string
	Stdin effects.Stdin
	Text  string // literal standard input
	// Redirected is set if standard output is certainly no terminal.
	Redirected bool
	// Printed is the output of a preceding command, if known: its effects are added for
	// denies, but nothing is allowed because of it.
	Printed string
	// Words are what a program that appends words (xargs) certainly reads, nil if not known.
	Words *Words
	// via is the run that causes this one, nil if none.
	via *effects.Via
	// wrapped is the number of wrappers around the command; appended is set if one of
	// them adds words that it reads at run time.
	wrappers     int
	appendsWords bool
}

// Command adds the effects of running the words as a command. The first word is
// literal.
func (b *Builder) Command(words []effects.Word, at Setting) {
	first := len(b.Effects)
	if (at.wrappers > 0 || b.Depth > 1) && !b.MayGoWithin(len(words)) {
		b.Unknown(at.From, effects.TooManyWithin)
		b.deferWrapped(words, at)
		return
	}
	if why := foreign.Why(words); why != "" {
		b.Unknown(at.From, why)
	}
	p := b.Table.Program(b.ProgramName(words[0].Text))
	if p != nil && p.Wrapper != nil && !p.Wrapper.Elsewhere {
		if at.wrappers++; at.wrappers > maxWrappers {
			b.Unknown(at.From, effects.TooManyWithin)
			b.deferWrapped(words, at)
			return
		}
		b.wrapped(p, words, at)
	} else {
		b.Run(words, at)
	}
	for i := first; at.via != nil && i < len(b.Effects); i++ {
		if b.Effects[i].Via == nil {
			b.Effects[i].Via = at.via
		}
	}
}

// Run adds a run effect and those of its words, and returns its index.
func (b *Builder) Run(words []effects.Word, at Setting) int {
	given := words[0].Text
	r := &effects.Run{Program: given, Stdin: at.Stdin, StdinText: at.Text, Cwd: at.Cwd, Args: make([]string, 0, len(words)-1)}
	r.Variables = slices.Clip(b.Variables)
	for i := range words[1:] {
		r.Args = append(r.Args, words[i+1].Argument())
	}
	var text string
	text, r.Shown = display.Command("run ", words)
	index := b.Add(effects.Effect{Kind: effects.KindRun, From: at.From, Run: r, Text: text, Via: at.via})
	name := b.ProgramName(given)
	if strings.Contains(given, "/") {
		r.Executable = given
		if name == "" {
			name = b.byPath(index, at)
		}
		if name != "" {
			r.Program = name
		}
	}
	v := invocations.Get().(*invocation)
	*v = invocation{b: b, at: at, index: index, asWritten: given, run: r, args: words[1:]}
	v.subs = v.subsMemory[:0]
	p, opinion := b.Table.Program(name), b.Table.OverlayProgram(name)
	switch {
	case p != nil:
		r.Known, r.Table = true, p.At
		if v.listedProgram(p); opinion != nil {
			v.applyOverlay(opinion)
		}
	default:
		if v.unlistedProgram(); opinion != nil {
			v.applyUserProgram(opinion)
		}
	}
	v.unbound()
	v.limitedToProject()
	v.limitedByOperands()
	v.harms.store(r)
	v.mayReadWords()
	v.mayMakeEach()
	v.mayRunOthers()
	v.mayTakeWords()
	if at.via != nil && at.via.Arg >= 0 {
		// A rule line that spells out the wrapper covers only the words that a line for
		// the program itself would cover.
		outer := b.Effects[at.via.Effect].Run
		outer.LimitedTo = max(outer.LimitedTo, at.via.Arg+1+r.LimitedTo)
		b.Effects[index].Via = &effects.Via{Effect: at.via.Effect, Arg: max(at.via.Arg, min(at.via.Arg+r.HarmlessFrom, len(outer.Args)-1))}
	}
	b.Effects[index].Tags, r.Folder = b.Folder(r.Cwd)
	if p := b.Table.Program(name); p == nil || p.Wrapper == nil || p.Wrapper.Elsewhere {
		b.markPrintsSecrets(index, words)
	}
	if r.WithoutOverlay != nil && r.Cwd != at.Cwd {
		b.Effects[index].Tags |= b.Paths.CwdTags(at.Cwd)
	}
	for file := range b.Environments.Programs(&b.Collector, given, at.From) {
		own := slices.Clone(words)
		own[0] = effects.Word{Text: file, Shown: file}
		b.Run(own, at)
	}
	r.Own = b.usesOfPermd().Use(r, given, at.appendsWords)
	display.ConcealWords(b.Effects, index, words, b.Asides, b.Opened)
	*v = invocation{}
	invocations.Put(v)
	return index
}

// invocations has zero invocations. None of a run is used after Run has returned.
var invocations = sync.Pool{New: func() any { return new(invocation) }}

// mayRunOthers defers the other runs of the program that its sub-command does as well.
func (v *invocation) mayRunOthers() {
	for _, run := range v.b.Table.OtherRuns(v.run.Program, v.run.Subcommand) {
		words := []effects.Word{effects.LiteralWord(v.run.Program)}
		for _, w := range run {
			words = append(words, effects.LiteralWord(w))
		}
		v.b.possibly("", words, v.run.Cwd, v.at)
	}
}

// mayTakeWords defers the run without the words that nopt, which reads the words of npm and
// pnpm, takes for the value of an option that needs none: npm run --if-present true ship.
func (v *invocation) mayTakeWords() {
	if !noptPrograms.Has(v.run.Program) {
		return
	}
	words := []effects.Word{effects.LiteralWord(v.run.Program)}
	for i, w := range v.args {
		if i == 0 || !noptValues.Has(w.Text) || !looksLikeOption(v.args[i-1].Text) || strings.Contains(v.args[i-1].Text, "=") {
			words = append(words, w)
		}
	}
	if len(words) <= len(v.args) {
		v.b.possibly("", words, v.run.Cwd, v.at)
	}
}

var (
	noptPrograms = wordset.Fields("npm npx pnpm pnpx")
	noptValues   = wordset.Fields("true false null always")
)

// byPath handles a program that is given by its path, and records the script. It returns
// the name if the path leads to a system folder by a detour.
func (b *Builder) byPath(index int, at Setting) string {
	r := b.Effects[index].Run
	e := b.Operand(effects.KindRead, r.Executable, at.Cwd, at.From)
	if e.File == nil {
		b.Unknown(at.From, "a program at a path that is not known")
		return ""
	}
	dir, base := path.Split(e.File.Path)
	if r.Executable[0] == '/' && base == path.Base(r.Executable) && b.Table.SystemFolder(path.Clean(dir)) {
		return base
	}
	r.Program, r.OtherPaths = e.File.Path, e.File.OtherPaths
	r.Script = b.Script(e.File.Path, at.From)
	return ""
}

// Inline adds the effects of shell text in words. Text that is not known completely is
// Unknown, as is all text that another machine, or the shell itself, runs.
func (b *Builder) Inline(index, arg int, code []effects.Word, at Setting, itself bool) {
	unknown := func() { b.UnknownArg(index, arg, at.From, "code given inline") }
	if itself = itself || b.Remote; itself {
		unknown()
	}
	parts := make([]string, 0, len(code))
	for i := range code {
		text := code[i].Text
		if code[i].Dynamic() || code[i].Glob {
			if !itself {
				unknown()
			}
			if text = code[i].Guess; text == "" {
				return
			}
		}
		parts = append(parts, text)
	}
	b.nested(index, arg, strings.Join(parts, " "), at)
}

// nested adds the effects of shell text in a word of a run.
func (b *Builder) nested(index, arg int, text string, at Setting) {
	first := len(b.Effects)
	quiet, outer := b.Nothing, b.Input
	// Its commands read the shell's input.
	b.Input = Input{Kind: at.Stdin, Text: at.Text, Printed: at.Printed, Redirected: at.Redirected}
	b.texts.Text(b, text, at.Cwd, at.From)
	b.Nothing, b.Input = quiet, outer
	for i := first; i < len(b.Effects); i++ {
		if b.Effects[i].Via == nil {
			b.Effects[i].Via = &effects.Via{Effect: index, Arg: arg}
		}
	}
}

// unlistedProgram handles a program that the table does not have: its words have no effects,
// only plain operands at the end count as harmless, and the first word may be a
// sub-command that does anything.
func (v *invocation) unlistedProgram() {
	if sub, ok := strings.CutPrefix(path.Base(v.asWritten), "git-"); ok {
		v.b.possibly("", append([]effects.Word{effects.LiteralWord("git"), effects.LiteralWord(sub)}, v.args...), v.run.Cwd, v.at)
	}
	if len(v.args) > 0 {
		v.markHarmful(0)
		v.harms.options = firstPlain(v.args)
	}
	v.unexplainedTail(0)
	if path.Base(v.asWritten) == "run-parts" {
		v.mayRunParts()
	}
	if isPatchTool(v.asWritten) {
		v.applyPatch()
	}
}

// unexplainedTail handles words that no entry explains, from index n on.
func (v *invocation) unexplainedTail(n int) {
	v.unparsed = true
	for i := n; i < len(v.args) && !v.full(); i++ {
		w := &v.args[i]
		switch {
		case w.Dynamic(), w.Glob, w.Tree:
			v.dynamicWord(i)
		default:
			v.unexplainedWord(n, i)
			v.guardedWord(i, w.Text)
			v.mayDo(i)
			v.mayRun(i)
		}
	}
}

// guardedWord adds a read if a word that no entry explains is the path of a guarded
// file, so that rules about secrets apply. Other paths are the responsibility of the
// rule or person that allows the run.
func (v *invocation) guardedWord(i int, text string) {
	if name, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(name, "-") {
		text = value
	}
	if text == "" || text[0] == '-' || len(text) > maxGuardedWord || strings.ContainsAny(text, " \t\n,;(){}[]<>|&\x00") || strings.Contains(text, "://") {
		return
	}
	if e := v.b.Operand(effects.KindRead, text, v.run.Cwd, v.at.From); e.File != nil && e.Guarded() != 0 {
		v.b.Add(v.via(i, e))
	}
}

// plainOperand reports whether a word cannot be an option, an assignment, an address, or
// a path outside of the folder.
func plainOperand(text string) bool {
	if text == "" || strings.ContainsAny(text, "=\x00\n") || strings.Contains(text, "://") || strings.Contains(text, "..") {
		return false
	}
	return strings.IndexByte("-/~.+@:", text[0]) < 0
}
