package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/shell"
	"github.com/permd/permd/internal/strictjson"
)

// compileStandard adds the tools whose names mean the same to nearly all agents.
func (p *Profiles) compileStandard(tools map[string][]string, shapes map[string]*shape) error {
	p.standard = map[string]*shape{}
	for name, names := range tools {
		s := shapes[name]
		switch {
		case s == nil:
			return fmt.Errorf("standard: shape %q is not known", name)
		case s.use+s.question+s.mode != "" || s.wraps || len(s.needs) == 0 && !s.whole:
			return fmt.Errorf("standard: shape %q does not say what its tools do", name)
		}
		// As with what a client declares, nobody says what else the tool sends, or which files
		// its search leaves out.
		of := *s
		of.declared = true
		for _, n := range names {
			if n == "" || p.standard[n] != nil {
				return fmt.Errorf("standard: tool %q is empty or stands twice", n)
			}
			if _, _, remote := serverTool(n); remote {
				return fmt.Errorf("standard: tool %q has the name of a server's tool", n)
			}
			if err := p.checkKnownName(n, &of); err != nil {
				return fmt.Errorf("standard: tool %q: %w", n, err)
			}
			p.standard[n] = &of
		}
	}
	return nil
}

// standFor adds what a tool of an agent without a profile does by the usual meaning of its
// name, as claims that stand for its use. The effects of the call stay those of a tool that
// nobody knows, so that the claims take nothing away: they let rules and choices about what
// such a tool does allow its use, and stop the call.
func (t *tool) standFor() {
	s := t.standardTool()
	if s == nil || len(t.Effects) > shell.MaxEffects {
		return
	}
	claims := t.claimsOfRuns()
	if !s.runs() {
		claims = t.claimsOf(s)
	}
	for i := range claims {
		claims[i].Claimed, claims[i].StandsFor = true, t.use+1
	}
	t.hints = append(t.hints, claims...)
}

// standardTool returns the shape of the call's tool by its name, nil if the name has no usual
// meaning, or the call is not one that this meaning explains fully: then its use remains what
// it is.
func (t *tool) standardTool() *shape {
	c := t.Call
	if t.p != unknownAgent || !local(c) || t.id.remote || t.id.shape != nil || t.id.claimed || t.use < 0 || t.missing != "" || len(t.Defects) > 0 ||
		c.Tool.Server+c.Tool.Source+c.Tool.Version != "" || c.Tool.Destructive || !c.Credentials.Empty() || len(c.Marks) > 0 {
		return nil
	}
	if s := t.all.standard[c.Tool.Name]; s != nil && t.have == inputObject && t.fits(s) {
		return s
	}
	return nil
}

// fits reports whether an input has only the usual members of a tool of the shape, each once
// and with a plain value.
func (t *tool) fits(s *shape) bool {
	var have roles
	for i := range t.input {
		m := &t.input[i]
		kind := strictjson.Kind(m.Value)
		r := s.members[m.Name]
		switch {
		case kind == 'n':
		case (r == roleCommand || r == roleCommands) && have&(1<<roleCommand|1<<roleCommands) != 0:
			return false
		case (r == roleCommand || r == roleCommands) && kind == '[':
			have |= 1 << r
		case r != roleNone:
			text, ok := strictjson.ParseString(m.Value)
			if !ok || text == "" || strings.Contains(text, "\x00") || have.has(r) {
				return false
			}
			have |= 1 << r
		case s.harmless[m.Name], s.runs() && t.all.harmless[m.Name]:
			if kind == '{' || kind == '[' {
				return false
			}
		case s.runs() && t.all.roleOf(m.Name) == roleCwd && t.inSession(m.Value):
			// It would run there anyway.
		default:
			return false
		}
	}
	for _, r := range s.needs {
		if have.has(r) {
			return true
		}
	}
	return s.whole
}

// claimsOfRuns returns the effects of the input's command, which the call has as those of a
// tool that nobody knows. A list of words is what it executes, as without the name of a tool.
func (t *tool) claimsOfRuns() (claims []effects.Effect) {
	for i := range t.Effects {
		e := t.Effects[i]
		if slices.ContainsFunc(t.asText, func(at [2]int) bool { return i >= at[0] && i < at[1] }) {
			continue
		}
		if i == t.use || e.Via != nil && e.Via.Effect == t.use {
			continue
		}
		e.NameOf = i + 1
		claims = append(claims, e)
	}
	if len(claims) == 0 && t.Nothing {
		claims = append(claims, t.nothing())
	}
	return claims
}

// claimsOf returns the effects of an input of the shape. If these are not certain there are
// none.
func (t *tool) claimsOf(s *shape) (claims []effects.Effect) {
	own, id, defects, missing := t.Effects, t.id.shape, len(t.Defects), t.missing
	t.Effects, t.id.shape = nil, s
	t.apply(s, t.input, t.from)
	claims, t.Effects, t.id.shape = t.Effects, own, id
	if len(t.Defects) > defects || t.missing != missing || len(claims) > shell.MaxEffects {
		t.Defects, t.missing = t.Defects[:defects], missing
		return nil
	}
	for i := range claims {
		c := &claims[i]
		c.Via = nil // it would be an index into these
		for j := range own {
			if o := &own[j]; c.File != nil && o.File != nil && o.Kind == c.Kind && o.File.Path == c.File.Path && o.File.Recursive == c.File.Recursive {
				c.NameOf = j + 1
			}
		}
	}
	return claims
}
