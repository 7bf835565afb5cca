package runs

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
)

// harms are the words of a run that are not known to be harmless. The zero value means
// that all are harmless.
type harms struct {
	from    int   // see Run.HarmlessFrom
	options int   // see Run.OptionsFrom
	words   []int // see Run.Harmful; unsorted, with duplicates
	limit   int   // see Run.LimitedTo
}

// word records a word that a rule line has to spell out at its position.
func (h *harms) word(i int) {
	h.option(i)
	h.options = max(h.options, i+1)
}

// option records a word that is an option or its value: a rule line may name it at any
// position.
func (h *harms) option(i int) {
	h.from = max(h.from, i+1)
	h.maybeValue(i)
}

// maybeValue records a word that may be the value of the preceding option, or a harmless
// operand.
func (h *harms) maybeValue(i int) { h.words = append(h.words, i) }

// last reports whether a word is the last one recorded.
func (h *harms) last(i int) bool {
	n := len(h.words)
	return n > 0 && h.words[n-1] == i
}

// add merges the harms of the overlay's reading.
func (h *harms) add(o harms) {
	h.from, h.options = max(h.from, o.from), max(h.options, o.options)
	h.words = append(h.words, o.words...)
	h.limit = max(h.limit, o.limit)
}

// store writes the harms to the run.
func (h *harms) store(r *effects.Run) {
	slices.Sort(h.words)
	r.Harmful = slices.Compact(h.words)
	r.HarmlessFrom, r.OptionsFrom, r.LimitedTo = h.from, h.options, max(r.LimitedTo, h.limit)
	for _, i := range r.Harmful {
		if r.Args[i] == effects.DynamicWord {
			r.OptionsFrom = max(r.OptionsFrom, i+1)
		}
	}
}

// limitedBy records that an option in the word at i may keep the run from something.
func (v *invocation) limitedBy(o *programs.Option, i int) {
	if v.p.Limits(o) {
		v.harms.limit = max(v.harms.limit, i+1)
	}
}

// limitedByOperands records that the words of the run, not only its options, decide how
// dangerous it is: all of them have to be the same, unless the table says that it is as
// dangerous with other operands.
func (v *invocation) limitedByOperands() {
	if !v.alike() {
		v.harms.limit = len(v.args) + 1
	}
	// The commit that a new branch begins at, whose files are checked out.
	if v.switches() && v.has(makesBranch) {
		for _, i := range v.operands {
			v.markHarmful(i)
		}
	}
	// A file of further arguments, which may be any options (pytest @args).
	for _, i := range v.operands {
		if v.p != nil && v.p.Alike && strings.HasPrefix(v.args[i].Text, "@") {
			v.markHarmful(i)
		}
	}
}

// alike reports whether the run is as dangerous with other operands than its own, but for
// those whose effects are effects of their own, and for words that are not harmless.
func (v *invocation) alike() bool {
	p := v.p
	switch {
	case slices.ContainsFunc(v.b.Effects[v.index+1:], func(e effects.Effect) bool {
		return e.Run != nil && e.Via != nil && e.Via.Effect == v.index && e.Via.Arg >= 0
	}):
		return true // the words are those of another run, which limits this one
	case p == nil || p.Wrapper != nil || p.Interpreter != "" || p.Text:
		return false
	case v.run.Readonly:
		return p.Readonly && p.ReadonlyOperands < 0
	case v.switches():
		// A branch is switched to, or a file overwritten, unless a branch is made.
		return v.has(makesBranch)
	}
	return p.Alike || len(p.Operands) == 0 && !p.Open && len(v.operands) == 0
}

// makesBranch lists the options of git whose value is the name of a new branch.
var makesBranch = []string{"-b", "-B", "--orphan", "--create", "--force-create"}

// switches reports whether git checks out a branch or a commit.
func (v *invocation) switches() bool {
	return v.run.Program == "git" && slices.Contains([]string{"checkout", "switch"}, v.run.Subcommand)
}

// limitedToProject marks the words that name a path outside of the project, if the program
// runs what the files of the project say: there its files are code, too.
func (v *invocation) limitedToProject() {
	if v.p == nil || !slices.ContainsFunc(v.p.Obeys, func(o programs.Obeyed) bool { return o.Project }) {
		return
	}
	for i := v.index + 1; i < len(v.b.Effects); i++ {
		e := &v.b.Effects[i]
		if e.Kind == effects.KindRead && !e.Tags.Has(effects.InProject) && e.Via != nil && e.Via.Effect == v.index && e.Via.Arg >= 0 {
			v.markHarmful(e.Via.Arg)
		}
	}
}

// markHarmful records that a word is not harmless.
func (v *invocation) markHarmful(i int) { v.harms.word(i) }

// markHarmfulFrom records that all words from i on are not harmless: the meaning of one may
// depend on any other.
func (v *invocation) markHarmfulFrom(i int) {
	for ; i < len(v.args); i++ {
		v.markHarmful(i)
	}
}

// markOption records an option or its value. For programs whose options depend on their
// position, or that run the words after them, it is recorded like any other word.
func (v *invocation) markOption(i int) {
	if v.positionMatters() {
		v.markHarmful(i)
		return
	}
	v.harms.option(i)
}

// positionMatters reports whether an option's position changes its meaning.
func (v *invocation) positionMatters() bool {
	p := v.p
	return p != nil && (p.Style == programs.StyleFind || p.Style == programs.StyleTest || p.Style == programs.StyleAssign || p.Dashless ||
		p.Wrapper != nil || p.Interpreter != "" || p.Text)
}

// looksLikeOption reports whether a word looks like an option.
func looksLikeOption(text string) bool { return len(text) > 1 && text[0] == '-' && text != "--" }

// takesNext reports whether the word after a word may be its value.
func takesNext(w *effects.Word) bool {
	return looksLikeOption(w.Text) && !strings.Contains(w.Text, "=")
}

// unexplainedWord records the word at i, one of the words from n on that the table does not
// explain: an option, with the word after it, may mean anything, but the meaning does
// not depend on its position.
func (v *invocation) unexplainedWord(n, i int) {
	w := &v.args[i]
	value := i > n && takesNext(&v.args[i-1]) && w.Text != "--"
	switch plain := plainOperand(w.Text); {
	case plain && value && !v.positionMatters():
		v.harms.maybeValue(i)
	case plain:
	case value, looksLikeOption(w.Text):
		v.markOption(i)
	default:
		v.markHarmful(i)
	}
}

// firstPlain returns the number of words up to the first one that is neither an option
// nor possibly the value of one; it exceeds the number of words if there is none.
func firstPlain(words []effects.Word) int {
	for i := range words {
		w := &words[i]
		if !w.Dynamic() && !strings.HasPrefix(w.Text, "-") && (i == 0 || !takesNext(&words[i-1])) {
			return i + 1
		}
	}
	return len(words) + 1
}
