package decisions

import (
	"slices"
	"strings"
)

// readOnlyModes are words of agents' names for the modes in which they only look and
// plan.
var readOnlyModes = []string{"plan", "planning", "planner", "readonly", "architect", "explore"}

// confinement says why a session may do less than a sub-agent that it starts, ""
// if nothing is known that confines it. Mode and ancestors are claims; all they
// can do here is to make a start ask.
//
// A session that another one started was given its tools by that one. What its
// own sub-agents get is up to the harness, and harnesses have let a planner
// start a builder.
func (s *SessionRef) confinement() string {
	if len(s.Ancestors) > 0 {
		return "another session started this one"
	}
	mode := strings.ToLower(s.Mode)
	mode = mode[strings.LastIndexAny(mode, "/#")+1:] // some name modes by an address
	words := strings.FieldsFunc(mode, func(c rune) bool { return c < 'a' || c > 'z' })
	if mode == "ask" || slices.ContainsFunc(words, func(w string) bool { return slices.Contains(readOnlyModes, w) }) ||
		strings.Join(words, "") == "readonly" {
		return "its mode only looks or plans"
	}
	return ""
}
