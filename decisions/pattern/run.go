package pattern

import (
	"path"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// Run is a line about running a program.
type Run struct {
	// Program is a bare name, or a path: absolute, or beginning with ./ or ~/.
	Program string
	// Words are the words after the program.
	Words []Glob
	// Rest is set if a last * matches further words.
	Rest bool
	// Named are the words after the last *: options, each with at most one
	// value as a separate word.
	Named []string
	// Meaning is the meaning of the words, nil if it is not known; see
	// Resolved.
	Meaning *Meaning
	// Same are the other spellings of the line, only for denies and asks; see
	// Resolved.
	Same []*Run
}

// String returns the line.
func (r *Run) String() string {
	program := quoteWord(Glob{r.Program})
	if rest, ok := strings.CutPrefix(r.Program, "~/"); ok {
		program = "~/" + quotePiece(rest)
	}
	out := []string{program}
	for _, w := range r.Words {
		out = append(out, quoteWord(w))
	}
	if r.Rest {
		out = append(out, "*")
	}
	for _, word := range r.Named {
		out = append(out, quoteWord(Glob{word}))
	}
	return strings.Join(out, " ")
}

// match reports whether the line covers a run, or an effect of a word of a run
// that the line spells out.
func (r *Run) match(e *effects.Effect, all []effects.Effect, ctx Context) bool {
	if e.Kind == effects.KindRun && e.Run != nil && r.matchRun(e, ctx) {
		return true
	}
	return r.matchWord(e, all, ctx)
}

func (r *Run) matchRun(e *effects.Effect, ctx Context) bool {
	run := e.Run
	return (r.isProgram(run.Program, ctx) || r.isExecutable(run)) &&
		r.matchWords(run.Args, run.Harmful) &&
		(!r.Rest || r.covers(run) && (run.Known || !r.ByPath())) &&
		mayOmitStdin(run) &&
		(!e.Tags.Has(effects.Outside) || run.Cwd != "" && run.Cwd == ctx.Cwd)
}

// covers reports whether the words after those that the line spells out are
// harmless, or named by it.
func (r *Run) covers(run *effects.Run) bool {
	if len(r.Named) > 0 {
		return r.namesAll(run)
	}
	return run.HarmlessFrom <= len(r.Words)
}

// ByPath reports whether the line gives the program as a path. The file there
// is a script or a program of the project that permd does not know, and that
// anyone who changes the project can change: such a line allows what it spells
// out, and its last * allows nothing.
func (r *Run) ByPath() bool { return strings.Contains(r.Program, "/") }

// mayOmitStdin reports whether a line without a condition on standard input may
// cover the run: an unknown program may do anything with its input, and input
// from the network is not the person's.
func mayOmitStdin(run *effects.Run) bool {
	return run.Readonly ||
		run.Stdin == effects.StdinNone || run.Stdin == "" ||
		run.Known && run.Stdin != effects.StdinNetwork
}

// matchWords compares the words after the program, in order; harmful are the indexes of those
// that are not known to be harmless. A word with a * does not match an option or a path out of
// its folder unless it begins like one.
func (r *Run) matchWords(args []string, harmful []int) bool {
	if len(args) < len(r.Words) || !r.Rest && len(args) != len(r.Words) {
		return false
	}
	for i, w := range r.Words {
		if lit, ok := w.Literal(); ok {
			if args[i] != lit {
				return false
			}
		} else if !w.MatchWithin(args[i]) || escapesStar(w, args[i]) ||
			slices.Contains(harmful, i) && strings.ContainsAny(args[i], w.MeantForShell()) {
			return false
		}
	}
	return true
}

// escapesStar reports whether a word matches a * in a way that its author
// cannot have meant: as an option, as a path that leaves its folder, or as text
// that is only known when the command runs.
func escapesStar(w Glob, arg string) bool {
	option := strings.HasPrefix(arg, "-") && !strings.HasPrefix(w.Prefix(), "-")
	control := strings.ContainsFunc(arg, func(c rune) bool { return c < 0x20 || c == 0x7f })
	return option || control || slices.Contains(strings.Split(arg, "/"), "..")
}

// MeantForShell returns the characters with which a text has more than one command or more than
// one word for a shell, but for those that the glob itself has. A * in a word that the program may
// give to a shell (make X=*) does not match them: its author meant a name.
func (g Glob) MeantForShell() string {
	return strings.Map(func(c rune) rune {
		if slices.ContainsFunc(g, func(piece string) bool { return strings.ContainsRune(piece, c) }) {
			return -1
		}
		return c
	}, " \"$&'();<>\\`{|}")
}

// isProgram compares the program. A path in a line is one place in the file
// system, in whatever folder the run is.
func (r *Run) isProgram(program string, ctx Context) bool {
	if !strings.Contains(r.Program, "/") {
		return program == r.Program
	}
	base, rest := splitBase(r.Program)
	root := base.root(ctx)
	return root != "" && program == path.Join(root, rest)
}

// isExecutable reports whether the call gave the program as exactly the path in
// the line: /usr/bin/git is the program git.
func (r *Run) isExecutable(run *effects.Run) bool {
	return strings.HasPrefix(r.Program, "/") && run.Executable == r.Program
}

// matchWord reports whether an effect comes from a word of a run that the line
// spells out. The program must use the word literally: a relative path must not
// lead out of the project, and a host must be in the word.
func (r *Run) matchWord(e *effects.Effect, all []effects.Effect, ctx Context) bool {
	word, ok := r.spelledWord(e, all)
	if !ok || !r.isProgram(all[e.Via.Effect].Run.Program, ctx) {
		return false
	}
	switch e.Kind {
	case effects.KindRun, effects.KindRead, effects.KindWrite, effects.KindDelete:
		return strings.HasPrefix(word, "/") || !e.Tags.Has(effects.Outside)
	case effects.KindConnect:
		return e.Connect != nil && e.Connect.Host != "" && strings.Contains(word, e.Connect.Host)
	case effects.KindUse, effects.KindState, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
	}
	return false
}

// spelledWord returns the word that an effect comes from if its run's words are
// those of the line and the line spells this word out. If a * admits further
// words, the word must occur only once: the same text in another position may
// mean something else (the second file of cp).
func (r *Run) spelledWord(e *effects.Effect, all []effects.Effect) (string, bool) {
	if e.Via == nil || e.Via.Effect < 0 || e.Via.Effect >= len(all) || all[e.Via.Effect].Run == nil {
		return "", false
	}
	args := all[e.Via.Effect].Run.Args
	i := e.Via.Arg
	if i < 0 || i >= len(r.Words) || !r.matchWords(args, nil) {
		return "", false
	}
	word, literal := r.Words[i].Literal()
	if !literal || word == "" {
		return "", false
	}
	if !r.Literal() && slices.Contains(slices.Delete(slices.Clone(args), i, i+1), word) {
		return "", false
	}
	return word, true
}

// Literal reports whether the line has no *.
func (r *Run) Literal() bool {
	for _, w := range r.Words {
		if _, ok := w.Literal(); !ok {
			return false
		}
	}
	return !r.Rest
}

// exact reports whether the effect is that of an absolute path that the line
// spells out.
func (r *Run) exact(e *effects.Effect, all []effects.Effect) bool {
	word, ok := r.spelledWord(e, all)
	return ok && e.File != nil && strings.HasPrefix(word, "/")
}

// touches reports whether a run may be covered by the line.
func (r *Run) touches(run *effects.Run, ctx Context) bool {
	named := run.Program == r.Program || strings.HasSuffix(run.Program, "/"+r.Program)
	if strings.Contains(r.Program, "/") {
		named = r.isProgram(run.Program, ctx) || r.isExecutable(run)
	}
	return named && (r.touchesAs(run) || slices.ContainsFunc(r.Same, func(same *Run) bool { return same.touchesAs(run) }))
}

// touchesAs compares the words after the program.
func (r *Run) touchesAs(run *effects.Run) bool {
	return r.touchesWords(run.Args) || r.touchesParts(run) || r.Meaning != nil && r.Meaning.touches(run)
}

func (r *Run) touchesWords(args []string) bool {
	if len(args) < len(r.Words) || !r.Rest && len(args) != len(r.Words) {
		return false
	}
	for i, w := range r.Words {
		if !w.Match(args[i]) {
			return false
		}
	}
	return r.touchesNamed(args)
}

// Parts splits a line with a last * into a sub-command and options, so that
// "git push --force *" also matches "git -C x push origin -f". ok is false for
// every other line.
func (r *Run) Parts() (subcommand string, options []string, ok bool) {
	if !r.Rest || len(r.Words) == 0 {
		return "", nil, false
	}
	var words []string
	for _, w := range r.givenWords() {
		lit, literal := w.Literal()
		switch {
		case !literal:
			return "", nil, false
		case strings.HasPrefix(lit, "-"):
			options = append(options, lit)
		case len(options) > 0:
			return "", nil, false // an operand after an option has a fixed position
		default:
			words = append(words, lit)
		}
	}
	return strings.Join(words, " "), options, true
}

// givenWords returns all words after the program in the line.
func (r *Run) givenWords() []Glob {
	if len(r.Named) == 0 {
		return r.Words
	}
	words := slices.Clip(r.Words)
	for _, word := range r.Named {
		words = append(words, Glob{word})
	}
	return words
}

func (r *Run) touchesParts(run *effects.Run) bool {
	subcommand, options, ok := r.Parts()
	if !ok {
		return false
	}
	if subcommand != "" && run.Subcommand != subcommand && !strings.HasPrefix(run.Subcommand, subcommand+" ") {
		return false
	}
	for _, o := range options {
		if !slices.Contains(run.Flags, o) {
			return false
		}
	}
	return true
}
