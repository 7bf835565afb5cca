package pattern

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
)

// IsOption reports whether a word looks like an option: a dash with something
// after it. A lone -- is not an option.
func IsOption(word string) bool {
	return len(word) > 1 && word[0] == '-' && word != "--"
}

// name adds a word that follows the last * of a line: an option, or the single
// value of the option before it.
func (r *Run) name(w Glob, index int) *refusal {
	word, literal := w.Literal()
	if !literal {
		return refuse("write the option and its value out", "a * stands behind the * of its own")
	}
	if !IsOption(word) && (len(r.Named) == 0 || !IsOption(r.Named[len(r.Named)-1])) {
		if word == "--" {
			return refuse("write the -- and the words before it out, before the *", "a -- stands behind the *")
		}
		if len(r.Named) == 0 {
			return refuse("write the words out, or quote the *", "a * of its own stands only at the end, or before options")
		}
		return refuse("write operands before the *", "the word %d is neither an option nor the one value of an option", index+1)
	}
	if word == "--" {
		return refuse("write the -- and the words before it out, before the *", "a -- stands behind the *")
	}
	r.Named = append(r.Named, word)
	return nil
}

// namesAll reports whether the words from the * on that are not harmless are
// exactly those that the line names, in its order, each value right after its
// option. A missing word is as different as an additional one: allowing a run
// with --dry-run does not allow it without.
func (r *Run) namesAll(run *effects.Run) bool {
	n := len(r.Words)
	if run.OptionsFrom > n {
		return false
	}
	k, before := 0, -1
	for _, i := range run.Harmful {
		if i < n {
			continue
		}
		if k == len(r.Named) || i >= len(run.Args) || run.Args[i] != r.Named[k] {
			return false
		}
		if !IsOption(r.Named[k]) && i != before+1 {
			return false
		}
		k, before = k+1, i
	}
	return k == len(r.Named) && run.HarmlessFrom <= before+1
}

// touchesNamed reports whether everything the line names is among words, in any
// order and position; a value may be in the word of its option.
func (r *Run) touchesNamed(args []string) bool {
	for k, option := range r.Named {
		if !IsOption(option) {
			continue
		}
		value, has := r.ValueOf(k)
		if !slices.ContainsFunc(args, func(arg string) bool { return option == arg || hasAttachedValue(option, arg, value, has) }) {
			return false
		}
		if has && !slices.ContainsFunc(args, func(arg string) bool { return value == arg || hasAttachedValue(option, arg, value, has) }) {
			return false
		}
	}
	return true
}

// ValueOf returns the value that the line gives to its option at k of Named.
func (r *Run) ValueOf(k int) (string, bool) {
	if k+1 < len(r.Named) && !IsOption(r.Named[k+1]) {
		return r.Named[k+1], true
	}
	return "", false
}

// hasAttachedValue reports whether a word is an option with its value: --env=prod, or
// -eprod for an option of one letter.
func hasAttachedValue(option, arg, value string, has bool) bool {
	rest, ok := strings.CutPrefix(arg, option)
	if !ok {
		return false
	}
	if !has {
		return strings.HasPrefix(rest, "=")
	}
	return rest == "="+value || len(option) == 2 && rest == value
}
