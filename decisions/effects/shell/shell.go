// Package shell turns shell text into effects. It walks the syntax tree in the order of
// execution, tracks folders, variables, pipes and loops, and passes the words of each
// command to package runs. Text that shells read differently becomes Unknown, whatever
// its tree.
package shell

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/display"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/plainshell"
	"github.com/permd/permd/decisions/effects/programs"
	"github.com/permd/permd/decisions/effects/runs"
)

// textReader reads shell text for the words of runs.
type textReader struct{}

func (textReader) Text(b *runs.Builder, text, cwd, from string)   { Text(b, text, cwd, from) }
func (textReader) TextIn(b *runs.Builder, text, cwd, from string) { shellTextIn(b, text, cwd, from) }

// NewBuilder returns the builder of a call whose shell text this package reads.
func NewBuilder(env paths.Environment, table *programs.Table, c *effects.Call, res *paths.Resolver) *runs.Builder {
	return runs.NewBuilder(env, table, c, res, textReader{})
}

// Text appends the effects of shell text run in cwd ("" if not known). A persistent shell
// may be in other folders too: the effects there are added if they differ.
func Text(b *runs.Builder, text, cwd, from string) {
	first := len(b.Effects)
	shellTextIn(b, text, cwd, from)
	if b.Depth > 0 || cwd == "" || cwd != b.Call.Cwd {
		return
	}
	base := b.Effects[first:len(b.Effects):len(b.Effects)]
	if len(b.Call.Folders)*len(text) > maxShellText {
		b.Unknown(from, "a command too long to be judged in each folder that its shell may be in")
		b.DeferText(text, cwd, from)
		return
	}
	for _, folder := range b.Call.Folders {
		if len(b.Effects) > MaxEffects {
			return
		}
		next, quiet := len(b.Effects), b.Nothing
		shellTextIn(b, text, folder, from)
		if sameElsewhere(base, b.Effects[next:], next-first) {
			b.Effects, b.Nothing = b.Effects[:next], quiet
		}
	}
}

// sameElsewhere reports whether shell text has the same effects in another folder, where
// they begin shift later, so that those need not be added. The folder is part of a run's
// effect (npm test runs a script of the package.json there), unless the run is
// read-only: its reads are effects of their own.
func sameElsewhere(a, b []effects.Effect, shift int) bool {
	return slices.EqualFunc(a, b, func(x, y effects.Effect) bool {
		if x.Kind != y.Kind || x.Text != y.Text || x.Why != y.Why || x.Tags != y.Tags || (x.Run == nil) != (y.Run == nil) ||
			(x.File == nil) != (y.File == nil) || (x.Via == nil) != (y.Via == nil) {
			return false
		}
		return (x.File == nil || sameFile(x.File, y.File)) &&
			(x.Run == nil || sameRun(x.Run, y.Run)) &&
			(x.Via == nil || x.Via.Arg == y.Via.Arg && x.Via.Effect+shift == y.Via.Effect)
	})
}

func sameFile(x, y *effects.File) bool {
	return x.Path == y.Path && x.AsWritten == y.AsWritten && x.Recursive == y.Recursive && x.Tree == y.Tree && x.OtherName == y.OtherName && x.HoldsRules == y.HoldsRules &&
		slices.Equal(x.OtherPaths, y.OtherPaths)
}

func sameRun(x, y *effects.Run) bool {
	return x.Program == y.Program && slices.Equal(x.OtherPaths, y.OtherPaths) && x.Readonly == y.Readonly && slices.Equal(x.Args, y.Args) && (x.Readonly || x.Cwd == y.Cwd)
}

// shellTextIn appends the effects of shell text run in cwd.
func shellTextIn(b *runs.Builder, text, cwd, from string) {
	before := len(b.Effects)
	why := shellBounds(text)
	if b.Parsed += len(text); why == "" && b.Parsed > maxAllText {
		why = "more shell text than permd follows"
	}
	if why == "" && b.Depth >= maxShellInShell {
		why = "shell text inside shell text, too deep"
	}
	var file *syntax.File
	var refusal *plainshell.Refusal
	if why != "" {
		_, refusal = plainshell.Read(text, b.Readers())
	} else if file, refusal = reader.read(text, b.Readers()); file == nil {
		// The parser's message repeats the text, which would have to be masked.
		why = "shell text that cannot be parsed"
	}
	if refusal != nil {
		defer b.NotPlain(from, refusal) // after the effects of what was parsed
	}
	if why != "" {
		b.Unknown(from, why)
		b.DeferText(text, cwd, from)
		return
	}
	b.Depth++
	defer func() { b.Depth-- }()
	s := &walker{b: b, text: text, from: from}
	s.findFunctions(file)
	in := b.Input
	if b.Input = (runs.Input{}); in.Kind == "" {
		in.Kind = effects.StdinNone
	}
	end := s.script(file.Stmts, startAt(cwd), in)
	if s.refusal == nil && (s.full || s.boundHit || s.boundReached()) && strings.Contains(text, "$((") {
		s.refusal = &plainshell.Refusal{Construct: plainshell.Arithmetic, Detail: "$((…)) in a text that permd does not follow to its end"}
	}
	if refusal == nil && s.refusal != nil {
		defer b.NotPlain(from, s.refusal)
	}
	b.Input = in
	s.rewalkConcurrent()
	s.drain(0, before, runs.Input{})
	if s.full || s.boundHit {
		b.DeferText(text, cwd, from)
	}
	s.leavesProject(&end)
	if len(b.Effects) == before {
		b.Nothing = true
	}
	concealPiped(b.Effects[before:], text)
}

// concealPiped masks what echo and the like print into a command that reads a secret, or
// into a file of secrets, which only the whole text tells.
func concealPiped(effs []effects.Effect, text string) {
	piped := display.PipedSecrets(text)
	if len(piped) == 0 {
		return
	}
	for i := range effs {
		e := &effs[i]
		switch r := e.Run; {
		case e.Detail() == effects.NoDetail:
			e.Text, e.Why = display.Conceal(e.Text, piped), display.Conceal(e.Why, piped)
		case r != nil && (display.Prints(r.Program) || strings.Contains(e.Text, "<(")):
			if text := display.Conceal(e.Text, piped); text != e.Text {
				e.Text, r.Shown = text, nil
			}
		}
	}
}

// Argv appends the effects of running a program without a shell: its words
// mean what they say.
func Argv(b *runs.Builder, args []string, cwd, from string) {
	if len(args) == 0 || args[0] == "" {
		b.Unknown(from, "a command without a program")
		return
	}
	words := make([]effects.Word, len(args))
	for i, arg := range args {
		if why := HiddenCharacter(arg); why != "" {
			b.Unknown(from, why)
			return
		}
		words[i] = effects.LiteralWord(arg)
	}
	b.Command(words, runs.Setting{Cwd: cwd, From: from, Stdin: effects.StdinNone})
}

// shellBounds returns why text must not be parsed, "" if it may.
func shellBounds(text string) string {
	if len(text) > maxShellText {
		return "shell text longer than 32 KiB"
	}
	if why := HiddenCharacter(text); why != "" {
		return why
	}
	if strings.ContainsRune(text, '\r') {
		// A carriage return separates words to the parser but not to bash.
		return "shell text with a carriage return"
	}
	// Brackets inside quotes and comments are counted as well: that only makes
	// the bound stricter for odd text. Closing ones in quotes can make it
	// looser; the length bounds what the parser can then be made to do, and the
	// walk counts the true depth again.
	depth, ticks := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			if depth++; depth > maxShellNesting {
				return "shell text nested too deeply"
			}
		case ')', '}', ']':
			depth = max(depth-1, 0)
		case '`':
			if i > 0 && text[i-1] == '\\' {
				if ticks++; ticks > maxShellNesting {
					return "shell text nested too deeply"
				}
			}
		}
	}
	return ""
}

// HiddenCharacter returns a description of the first character that a person could not
// see or would see in another place, "" if there is none. Tab and newline are allowed,
// and so is a carriage return, where no shell reads it.
func HiddenCharacter(text string) string {
	ascii := true
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf {
			ascii = false
		} else if (c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7f {
			return "text with a control character"
		}
	}
	if ascii {
		return ""
	}
	if !utf8.ValidString(text) {
		return "text that is not valid UTF-8"
	}
	for _, r := range text {
		// Cf contains the bidirectional controls, zero-width characters and tags.
		if r >= utf8.RuneSelf && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != '\t' && r != '\n' && r != '\r' {
			return "text with an invisible or bidirectional character"
		}
	}
	return ""
}

// walker walks one parsed text.
type walker struct {
	b    *runs.Builder
	text string
	from string

	level int // nesting of the walk
	full  bool
	// boundHit is set if a bound was reached, oneByOne if commands are read one by one
	// (see overflow.go).
	boundHit, oneByOne bool
	// refusal is why the text is not plain although its form is.
	refusal *plainshell.Refusal
	// socket is set if a redirection of the text connects to another machine.
	socket bool
	// rebound is set if the text may have given its own standard output a terminal.
	rebound bool
	// outputDepth is the depth of nested pipelines while the output of a command is searched.
	outputDepth int

	// redefined holds the names that a function or alias of the text redefines.
	redefined    map[string]bool
	allRedefined bool
	// assigned holds the variables that the text sets; anyAssigned is set if it may set
	// any.
	assigned    map[string]bool
	anyAssigned bool
	// declared holds the variables to which a declaration of the text may have given an
	// attribute.
	declared map[string]bool
	// definitions counts the redefinitions and assignments found in the text.
	definitions int
	// loops are the enclosing loops, innermost last.
	loops []*loopEnds
	// followed counts the loops that are walked once per word.
	unrolledLoops int
	// exits is the scope in which the text may exit, aborts that in which a line may be
	// abandoned.
	exits, aborts scope

	// concurrentParts holds the parts that run at the same time as later ones.
	concurrentParts []concurrentPart
	rewalking       bool   // this is a second walk of the same part
	sinks           []sink // the commands of >(…) whose input is not yet known
}

// unknown appends an Unknown effect of the text.
func (s *walker) unknown(why string) { s.b.Unknown(s.from, why) }

// boundReached reports whether the call has reached the bound of effects and asks anyway, so
// that the rest of it need not be examined.
func (s *walker) boundReached() bool {
	if !s.full && len(s.b.Effects) > effectLimit(s.b) {
		s.full = true
		s.unknown("more commands than permd follows")
	}
	return s.full
}

// state appends a State effect.
func (s *walker) state(why, text string) {
	s.b.Add(effects.Effect{Kind: effects.KindState, From: s.from, Why: why, Text: display.Display(text)})
}

// source returns the text of a node.
func (s *walker) source(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if from > to || to > uint(len(s.text)) {
		return "…"
	}
	return s.text[from:to]
}

// findFunctions records the names of the text's functions, wherever they are declared: a
// loop can run a command again after its name was redefined.
func (s *walker) findFunctions(file *syntax.File) {
	if !strings.Contains(s.text, "(") && !strings.Contains(s.text, "function") {
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok && f.Name != nil {
			s.redefine(f.Name.Value)
		}
		return true
	})
}

func (s *walker) redefine(name string) {
	if s.redefined == nil {
		s.redefined = map[string]bool{}
	}
	if !s.redefined[name] {
		s.redefined[name] = true
		s.definitions++
	}
}

// redefineAny records that any name may be redefined from now on.
func (s *walker) redefineAny() {
	if !s.allRedefined {
		s.allRedefined = true
		s.definitions++
	}
}

// maySet reports whether the text may set a variable.
func (s *walker) maySet(name string) bool { return s.anyAssigned || s.assigned[name] }

// assign records that the text sets a variable to an unknown value.
func (s *walker) assign(name string, at *scope) {
	at.unbind(name)
	if s.assigned == nil {
		s.assigned = map[string]bool{}
	}
	if !s.assigned[name] {
		s.assigned[name] = true
		s.definitions++
	}
}

// setAny records that the text may set any variable.
func (s *walker) setAny() {
	if !s.anyAssigned {
		s.anyAssigned = true
		s.definitions++
	}
}

// braceLimit is how many words the braces of one word may expand to; all words of a call
// may expand to 16 times as many.
func braceLimit(b *runs.Builder) int {
	if b.Rest != nil {
		return runs.MaxRest
	}
	return maxBraceWords
}

// effectLimit is how many effects are recorded.
func effectLimit(b *runs.Builder) int {
	if b.Rest != nil {
		return runs.MaxRest
	}
	return MaxEffects
}
