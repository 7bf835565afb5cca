package tools

import (
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// addAgentStart adds an Unknown effect for a sub-agent of a confined session. The effect is
// Unknown and not a mode: the harness may well pass the limits on, and whoever knows that
// theirs does can allow it by a rule. An allow of the tool, or permd's own rules, must
// not suffice: these were made for sessions that may do whatever their sub-agents may.
func (t *tool) addAgentStart(name string, args strictjson.Value, from string) {
	if !t.all.agentStarters[name] {
		return
	}
	if t.Call.Confined != "" {
		t.Unknown(t.id.from, "a sub-agent that may do more than this session: "+t.Call.Confined)
	}
	if text, ok := strictjson.ParseString(args); ok && strictjson.Check([]byte(text)) == nil {
		args = strictjson.Value(text)
	}
	t.agentMode(args, from, 0)
}

// modeWords are words in the name of a member that determines what a sub-agent may do
// without asking.
var modeWords = []string{
	"access", "allow", "allowed", "approval", "approvals", "approve", "auto", "autonomy", "bypass", "confirm", "confirmation", "dangerously", "elevated",
	"escalated", "grant", "grants", "isolation", "mode", "modes", "permission", "permissions", "policy", "privileged", "sandbox", "sandboxed", "skip", "trust", "trusted",
	"unattended", "unrestricted", "unsandboxed", "yolo",
}

// agentMode adds the mode effect of a sub-agent that is started with more rights than by
// default: {"mode": "bypassPermissions"}. Any value counts, except those known to be the
// default or narrower.
func (t *tool) agentMode(v strictjson.Value, from string, depth int) {
	switch strictjson.Kind(v) {
	case '{':
		o, err := strictjson.ParseObject(v)
		if err != nil {
			return
		}
		for i := range o {
			m := &o[i]
			at := memberOf(from, m.Name)
			if namesMode(m.Name) {
				t.entersModes(m.Value, 0)
			}
			switch {
			case strictjson.Kind(m.Value) == '{' || strictjson.Kind(m.Value) == '[':
				if namesMode(m.Name) && requestsAnything(m.Value) && !t.narrow(m.Value) {
					t.widens(at)
				} else if depth < foreignDepth {
					t.agentMode(m.Value, at, depth+1)
				} else {
					t.Unknown(at, "what a sub-agent is started with is nested too deeply")
				}
			case namesMode(m.Name) && requestsAnything(m.Value) && !t.narrow(m.Value):
				t.widens(at)
			}
		}
	case '[':
		items, _ := strictjson.ParseArray(v)
		for i, item := range items {
			if i == maxToolPaths {
				t.Unknown(from, "a sub-agent is started with more than is looked at")
				return
			}
			t.agentMode(item, itemOf(from, i), depth+1)
		}
	}
}

// entersModes records every text in the value of a mode member as a mode in which the sub-agent
// would start. This includes modes with fewer permissions, which may be forbidden as well.
func (t *tool) entersModes(v strictjson.Value, depth int) {
	switch strictjson.Kind(v) {
	case '"':
		if name, _ := strictjson.ParseString(v); strings.TrimSpace(name) != "" {
			t.enters = append(t.enters, name)
		}
	case '{', '[':
		if depth == foreignDepth {
			t.Unknown(t.id.from, "what a sub-agent is started with is nested too deeply")
			return
		}
		o, _ := strictjson.ParseObject(v)
		for i := range o {
			t.entersModes(o[i].Value, depth+1)
		}
		items, _ := strictjson.ParseArray(v)
		for _, item := range items {
			t.entersModes(item, depth+1)
		}
	}
}

func (t *tool) widens(at string) {
	why := "a sub-agent would start with wider permissions"
	t.Add(effects.Effect{Kind: effects.KindMode, From: at, Why: why, Text: why})
}

// namesMode reports whether a member's name denotes what a sub-agent may do.
func namesMode(name string) bool {
	for word := range words(name) {
		if slices.Contains(modeWords, word) {
			return true
		}
	}
	return false
}

// narrow reports whether a value is a mode that the profiles list as the default or
// narrower.
func (t *tool) narrow(v strictjson.Value) bool {
	s, ok := strictjson.ParseString(v)
	return ok && t.all.narrow[strings.ToLower(s)]
}
