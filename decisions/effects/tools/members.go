package tools

import (
	"errors"
	"fmt"
	"maps"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/internal/strictjson"
)

// shell reports whether the shape is that of a shell tool.
func (s *shape) shell() bool {
	return s.runs() && s.use+s.question+s.mode == "" && !s.takes(rolePatch)
}

// besides returns the shape of one agent's shell tool, with the members that this one
// is known to take. Beside a command any other may change what it does, whatever it
// means to the tools of other agents.
func (s *shape) besides(members []string) (*shape, error) {
	if members == nil {
		return nil, errors.New("the agent does not say what its shell takes beside the command")
	}
	own := *s
	own.own, own.harmless = true, maps.Clone(s.harmless)
	for _, m := range members {
		if m == "" || own.harmless[m] {
			return nil, fmt.Errorf("member %q is empty or stands twice", m)
		}
		own.harmless[m] = true
	}
	return &own, nil
}

// unlisted reports whether a member that means nothing to the shape is not known
// to be harmless either: a newer version of the agent, or an extension of it, may
// take it for what the call does: {"command": "ls", "prefix": "sudo"}. Beside the
// command of a known agent's shell only those count that this tool is known to take.
// s is nil for an object that is of no shape.
func (t *tool) unlisted(s *shape, m *strictjson.Member) bool {
	general := t.all.harmless[m.Name] && (s == nil || !s.own)
	return !general && (s == nil || !s.harmless[m.Name]) && granted(m.Value)
}

// unknownMembers finds the members of an input, of a tool that nothing names,
// that no list knows: neither what they mean nor that they are harmless. With
// a command any of them may change what it does.
func (t *tool) unknownMembers(o strictjson.Object, from string) {
	for i := range o {
		m := &o[i]
		if _, near := t.nearMiss(m); near {
			continue // which is a defect already
		}
		if t.all.roleOf(m.Name) == roleNone && t.unlisted(nil, m) {
			t.defect(effects.DefectContradiction, memberOf(from, m.Name), "no tool is known to take this member beside a command")
		}
	}
}

// commandSiblings finds the members other than the command of an object in
// a list. Such an object is read for its command alone, so that whatever else
// it says (a folder, the environment, further words) would be passed over.
func (t *tool) commandSiblings(s *shape, o strictjson.Object, from string) {
	for i := range o {
		m := &o[i]
		if _, near := t.nearMiss(m); near {
			continue
		}
		r := s.members[m.Name]
		if r == roleNone {
			r = t.all.roleOf(m.Name)
		}
		if r != roleCommand && r != roleIgnore && t.unlisted(s, m) {
			t.defect(effects.DefectContradiction, memberOf(from, m.Name), "this member of a command in a list is not read")
		}
	}
}
