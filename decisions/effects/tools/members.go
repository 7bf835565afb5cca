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

// withSiblings returns the shape of one agent's shell tool, with the members that it is known to
// take. Next to a command, any other member may change what it does, whatever it means to
// the tools of other agents.
func (s *shape) withSiblings(members []string) (*shape, error) {
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

// isUnlisted reports whether a member without a role in the shape is not known to be harmless:
// a newer version of the agent, or an extension of it, may take it for part of the
// command: {"command": "ls", "prefix": "sudo"}. Next to the command of a known agent's
// shell, only the members that this tool is known to take are harmless. s is nil for an
// object without a shape.
func (t *tool) isUnlisted(s *shape, m *strictjson.Member) bool {
	if s != nil && s.declared {
		return !s.harmless[m.Name] && strictjson.Kind(m.Value) != 'n'
	}
	general := t.all.harmless[m.Name] && (s == nil || !s.own)
	return !general && (s == nil || !s.harmless[m.Name]) && requestsAnything(m.Value)
}

// unknownMembers finds the members of a nameless tool's input that are on no list, neither
// with a role nor as harmless. Next to a command, any of them may change what it does.
func (t *tool) unknownMembers(o strictjson.Object, from string) {
	for i := range o {
		m := &o[i]
		if _, near := t.nearMiss(m); near {
			continue // it is a defect already
		}
		if t.all.roleOf(m.Name) == roleNone && t.isUnlisted(nil, m) {
			t.defect(effects.DefectContradiction, memberOf(from, m.Name), "no tool is known to take this member beside a command")
		}
	}
}

// commandSiblings finds the members next to the command of an object in a list. Only the
// command of such an object is read, so that its other members (a folder, the environment,
// further words) would be ignored.
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
		if r != roleCommand && r != roleIgnore && t.isUnlisted(s, m) {
			t.defect(effects.DefectContradiction, memberOf(from, m.Name), "this member of a command in a list is not read")
		}
	}
}
