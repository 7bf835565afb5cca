package collect

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
)

// A run may do more than its effects say: git prints a file from the history, a move
// gives content another name, a word that is not understood may name a file or a
// command. An effect for each of these would ask in ordinary calls, or about something
// that the run does not do. They are kept aside, where only what stops a call sees
// them: denies, and of Asides also the asks of persons. If there are more than the
// bounds, the call is not understood, as one of those left out may be denied.

const (
	maxAsides = 1024 // effects that are kept aside for one call
	maxOpened = 512  // effects that only denies see, of one call
)

// SetAside adds an effect of a word of a run that may stop the call and allows nothing.
func (c *Collector) SetAside(run, arg int, e effects.Effect) {
	if e.File == nil || c.Remote {
		return // a path that is not known has another reason to ask
	}
	same := func(have effects.Effect) bool {
		return have.Kind == e.Kind && have.File.Path == e.File.Path && have.File.Recursive == e.File.Recursive &&
			slices.Equal(have.File.OtherPaths, e.File.OtherPaths)
	}
	switch {
	case slices.ContainsFunc(c.Asides, same):
	case len(c.Asides) >= maxAsides:
		c.TooManyAsides = true
	default:
		e.Via = &effects.Via{Effect: run, Arg: arg}
		e.Shell, e.Hint, e.Guessed = c.Depth > 0, true, true
		c.Asides = append(c.Asides, e)
	}
}

// OpenSometimes adds an effect that only denies see.
func (c *Collector) OpenSometimes(e effects.Effect) {
	switch {
	case slices.ContainsFunc(c.Opened, func(have effects.Effect) bool {
		return have.Kind == e.Kind && have.File.Path == e.File.Path && have.Via.Effect == e.Via.Effect
	}):
	case len(c.Opened) >= maxOpened:
		c.TooManyAsides = true
	default:
		e.Shell, e.Guessed = c.Depth > 0, true
		c.Opened = append(c.Opened, e)
	}
}
