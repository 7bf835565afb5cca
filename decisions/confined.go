package decisions

import (
	"slices"
	"strings"
)

// readOnlyModes are words in agents' names for modes in which they only read and plan.
var readOnlyModes = []string{"plan", "planning", "planner", "readonly", "architect", "explore"}

// confinement returns why a session may do less than a sub-agent that it starts, "" if
// nothing is known to confine it. Mode and ancestors are claims; here they can only make
// a start ask.
//
// A session that was started by another one got its tools from that one. What its own
// sub-agents get is up to the harness, and harnesses have let a planner start a builder.
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
