package runs

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/programs"
)

// harms are the words of a run that are not known to be harmless. The zero value
// is a run of harmless words.
type harms struct {
	from    int   // see Run.HarmlessFrom
	options int   // see Run.OptionsFrom
	words   []int // see Run.Harmful; in any order, some of them twice
}

// word notes a word that a line has to spell out where it is.
func (h *harms) word(i int) {
	h.option(i)
	h.options = max(h.options, i+1)
}

// option notes a word that is an option, or the value of one: a line may name it
// wherever it is.
func (h *harms) option(i int) {
	h.from = max(h.from, i+1)
	h.maybe(i)
}

// maybe notes a word that may be the value of the option before it, or an
// operand as harmless as others.
func (h *harms) maybe(i int) { h.words = append(h.words, i) }

// last reports whether a word is the last one that was noted.
func (h *harms) last(i int) bool {
	n := len(h.words)
	return n > 0 && h.words[n-1] == i
}

// add takes over what a second look found.
func (h *harms) add(o harms) {
	h.from, h.options = max(h.from, o.from), max(h.options, o.options)
	h.words = append(h.words, o.words...)
}

// store writes what was noted into the run.
func (h *harms) store(r *effects.Run) {
	slices.Sort(h.words)
	r.Harmful = slices.Compact(h.words)
	r.HarmlessFrom, r.OptionsFrom = h.from, h.options
	for _, i := range r.Harmful {
		if r.Args[i] == effects.DynamicWord {
			r.OptionsFrom = max(r.OptionsFrom, i+1)
		}
	}
}

// harm notes that a word is not harmless.
func (v *invocation) harm(i int) { v.harms.word(i) }

// harmFrom notes it of all words from one on: what one of them means may depend
// on any other.
func (v *invocation) harmFrom(i int) {
	for ; i < len(v.args); i++ {
		v.harm(i)
	}
}

// harmOption notes it of an option, or of the value of one. Where programs obey
// their options by their place, or run what words after them say, it is a word
// like others.
func (v *invocation) harmOption(i int) {
	if v.positionMatters() {
		v.harm(i)
		return
	}
	v.harms.option(i)
}

// positionMatters reports whether the place of an option among the words counts.
func (v *invocation) positionMatters() bool {
	p := v.p
	return p != nil && (p.Style == programs.StyleFind || p.Style == programs.StyleTest || p.Style == programs.StyleAssign || p.Dashless ||
		p.Wrapper != nil || p.Interpreter != "" || p.Text)
}

// dashed reports whether a word looks like an option.
func dashed(text string) bool { return len(text) > 1 && text[0] == '-' && text != "--" }

// takesNext reports whether the word after a word may be its value.
func takesNext(w *effects.Word) bool { return dashed(w.Text) && !strings.Contains(w.Text, "=") }

// unexplained notes the word at i, one of those from n on that no table
// explains: an option, with the word after it, may mean anything, but always
// the same.
func (v *invocation) unexplained(n, i int) {
	w := &v.args[i]
	value := i > n && takesNext(&v.args[i-1]) && w.Text != "--"
	switch plain := plainOperand(w.Text); {
	case plain && value && !v.positionMatters():
		v.harms.maybe(i)
	case plain:
	case value, dashed(w.Text):
		v.harmOption(i)
	default:
		v.harm(i)
	}
}

// firstPlain is how many words there are up to the first one that is neither an
// option nor may be the value of one: more than there are when none is.
func firstPlain(words []effects.Word) int {
	for i := range words {
		w := &words[i]
		if !w.Dynamic() && !strings.HasPrefix(w.Text, "-") && (i == 0 || !takesNext(&words[i-1])) {
			return i + 1
		}
	}
	return len(words) + 1
}
