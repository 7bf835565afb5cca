package decisions

import (
	"slices"
	"strings"
	"time"

	"github.com/permd/permd/decisions/effects/display"
)

// Outdated is a remembered allow that would cover an effect if the content that it is bound
// to were the same.
type Outdated struct {
	ChoiceID string `json:"choiceId"`
	// What is bound: a file of the project, or a part of one.
	What string `json:"what"`
	// How says what became of it.
	How Change `json:"how"`
	// Since is when the choice was made.
	Since time.Time `json:"since"`
	// Was and Now are the texts of the part, masked; both are "" where they are not kept.
	Was string `json:"was,omitzero"`
	Now string `json:"now,omitzero"`
	// Scope is where the choice applies.
	Scope string `json:"-"`
}

// Change is what became of the content that a choice is bound to.
type Change string

// The changes.
const (
	ContentChanged Change = "changed" // another text
	ContentOther   Change = "other"   // it is read from another file, as in another working tree
	ContentUnknown Change = "unknown" // it cannot be told, or may change before it runs
)

// Words completes a sentence about what is bound.
func (c Change) Words() string {
	switch c {
	case ContentOther:
		return "is another one here"
	case ContentUnknown:
		return "cannot be told for certain now"
	case ContentChanged:
	}
	return "has changed"
}

// Renewer is implemented by memories that know which choices are only kept from covering an
// effect by content that has changed.
type Renewer interface {
	// Outdated returns such a choice for an effect that no choice covers, nil if there is
	// none. It never waits for the disk.
	Outdated(q *MemoryQuery) *Outdated
}

// maxShownChange bounds each of the two texts in a reason, in characters.
const maxShownChange = 80

// reason says why permd asks although the person has said always.
func (o *Outdated) reason() string {
	since := " since you allowed it on " + o.Since.Local().Format(time.DateOnly)
	switch o.How {
	case ContentOther:
		return "asks again: " + o.What + " is not the one that you allowed on " + o.Since.Local().Format(time.DateOnly)
	case ContentUnknown:
		return "asks again: " + o.What + ", which your answer is bound to, cannot be told for certain now"
	case ContentChanged:
	}
	text := "asks again: " + o.What + " has changed" + since
	was, now := difference(o.Was, o.Now)
	switch {
	case o.Was == "" && o.Now == "":
		return text
	case was == "" && now == "":
		return text + ", outside of what is shown of it"
	}
	return text + ": " + quoted(was) + " is now " + quoted(now)
}

func quoted(text string) string {
	if text == "" {
		return "nothing"
	}
	if r := []rune(text); len(r) > maxShownChange {
		text = string(r[:maxShownChange-1]) + "…"
	}
	return `"` + text + `"`
}

// difference returns the first line of each text that the other has not, "" for none.
func difference(was, now string) (gone, added string) {
	old, fresh := strings.Split(strings.TrimSuffix(was, "\n"), "\n"), strings.Split(strings.TrimSuffix(now, "\n"), "\n")
	first := func(of, without []string) string {
		for _, line := range of {
			if !slices.Contains(without, line) {
				return line
			}
		}
		return ""
	}
	return first(old, fresh), first(fresh, old)
}

// withoutTexts returns effects as the journal stores them, which does not keep the texts of
// what choices are bound to: they are forgotten with the choice.
func withoutTexts(effs []EffectDecision) []EffectDecision {
	if !slices.ContainsFunc(effs, func(e EffectDecision) bool { return e.Outdated != nil }) {
		return effs
	}
	effs = slices.Clone(effs) // others hold it
	for i := range effs {
		if o := effs[i].Outdated; o != nil {
			c := *o
			c.What, c.Was, c.Now = clipStored(display.Display(o.What)), "", ""
			effs[i].Outdated = &c
		}
	}
	return effs
}
