package remember

import (
	"strings"

	"github.com/permd/permd/decisions/effects/display"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
)

// Choices of an earlier permd are carried over as follows. An allow that is
// bound to facts of a version that this permd does not compute matches nothing:
// the person is asked again. A reject is never dropped. Rejects of schema
// version 1 were bound to the facts of one effect, including the text of the
// script that ran, and most of them to all effects of the call. They match as
// before, and also by their line: one that was about its effect alone denies
// whatever touches the line, independent of the current text of a script. For
// one that was bound to a whole call the line names only the first effect,
// which may be harmless alone; it asks until a person has reviewed it.

// addLinePart gives a reject without parts the one derived from its line.
func (e *entry) addLinePart() {
	c := &e.choice
	kept := e.stored == factsVersion
	e.changed = !kept
	rule := lineOfLabel(c)
	line, err := pattern.Parse(c.Kind, rule)
	switch {
	case err != nil || strings.Contains(c.Label, display.Masked):
		// A secret is masked, or the line cannot be read. While the facts have
		// this version they suffice to identify it, unless they include the
		// content of a file.
		if kept && c.Pins.SHA256 == "" && c.Pins.Call == "" {
			return
		}
		e.changed = true
		if line = widest(c); line == nil {
			e.parts = []*rejectPart{lostPart(lostKind(c))}
			return
		}
	case c.Pins.Call != "":
		e.changed = true
	case c.Pins.Arguments || c.Pins.Given != "":
		// It was about a tool with these arguments, and the facts contain them.
		if kept {
			return
		}
		e.changed = true
	}
	e.parts = []*rejectPart{{
		entry: e, Part: Part{Kind: c.Kind, Rule: line.String()}, line: line, unsure: e.changed && !e.matchesOnlyLine(),
	}}
}

// matchesOnlyLine reports whether a migrated reject was about exactly its line.
func (e *entry) matchesOnlyLine() bool {
	p := &e.choice.Pins
	return e.stored != factsLost && p.Call == "" && !p.Arguments && p.Given == "" && !strings.Contains(e.choice.Label, display.Masked)
}

// lineOfLabel returns the rule line in a label, without the text that schema
// version 1 appended for people to read.
func lineOfLabel(c *Choice) string {
	rule := c.Label
	switch c.Kind {
	case effects.KindRun:
		if i := strings.Index(rule, " ("); i > 0 && c.Pins.SHA256 != "" && strings.HasSuffix(rule, ")") {
			rule = rule[:i]
		}
	case effects.KindUse:
		rule, _, _ = strings.Cut(rule, " (with ")
	case effects.KindRead, effects.KindWrite, effects.KindDelete, effects.KindConnect, effects.KindState, effects.KindMode,
		effects.KindQuestion, effects.KindUnknown:
		fallthrough
	default:
		rule = strings.TrimSuffix(rule, " and all below")
	}
	return rule
}

// widest returns a line for a reject whose own cannot be compared: all runs of
// the program. There is none for other effects, nor if the label has several
// parts.
func widest(c *Choice) *pattern.Pattern {
	if c.Kind != effects.KindRun || strings.Contains(c.Label, "\n") {
		return nil
	}
	program, _, _ := strings.Cut(c.Label, " ")
	line, err := pattern.Parse(effects.KindRun, program+" *")
	if err != nil {
		return nil
	}
	return line
}

// whyChanged returns why a choice of an earlier permd no longer applies as it did, ""
// if it does, or if a person has reviewed it.
func (e *entry) whyChanged() string {
	switch {
	case !e.changed || e.accepted.Load() != 0:
		return ""
	case e.choice.Verdict == decisions.Allow:
		return "it is bound to facts that this permd cannot compare, so it allows nothing: forget it, and answer again when you are asked"
	case len(e.parts) == 1 && e.parts[0].matchesAll():
		return "what it was about cannot be read, so it asks about whatever it may have been: look at what is left, reject again what you want rejected, and forget it"
	case len(e.parts) == 0:
		return "it is bound to facts that this permd cannot compare, so it may deny nothing: forget it, and reject the call again"
	case e.parts[0].unsure:
		return "it was said of a whole call, or of more than its line says: what the line speaks of asks, until you confirm the line, which then denies it, or forget it"
	}
	return "it denies what its line speaks of, and no longer looks at the content of files: confirm it, or forget it"
}

// acceptable reports whether a person can accept the change of a choice: an
// allow that no longer matches anything can only be forgotten, and so can a
// reject that no line covers.
func (e *entry) acceptable() bool {
	return e.whyChanged() == "" || e.choice.Verdict == decisions.Deny && len(e.parts) > 0 && !e.parts[0].matchesAll()
}
