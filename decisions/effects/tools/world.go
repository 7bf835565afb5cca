// Package tools turns a tool call into its effects. The profiles of agents say
// whose tool it is and what the members of its input mean; shell text, paths and
// addresses among them are read by the sibling packages. [World.Of] is
// the entry.
package tools

import (
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
)

// World is what effects are made with. It is immutable and shared by requests.
type World struct {
	FS       effects.FS
	Table    *programs.Table // the programs
	Profiles *Profiles       // the agents' own tools
	Own      paths.Own       // permd's own files
	// Others is set when calls come from other users than the one that the
	// daemon runs as: it may see what they may not, so what lies behind a folder
	// that the caller cannot search is unknown.
	Others bool
}

// Effects returns the effects of a call. It never fails: what cannot be understood
// is an Unknown effect.
func (w *World) Effects(c *effects.Call) effects.Result {
	return w.EffectsIn(w.CallContext(c))
}

func (w *World) environment() paths.Environment {
	return paths.Environment{FS: w.FS, Own: &w.Own, Others: w.Others}
}

// CallContext is where a call comes from, as it was found at one moment.
type CallContext struct {
	c   *effects.Call
	res *paths.Resolver // nil when it was used
}

// CallContext looks at where a call comes from. It needs neither Table nor Profiles:
// which these are may depend on the project.
func (w *World) CallContext(c *effects.Call) *CallContext {
	return &CallContext{c: c, res: paths.NewResolver(w.environment(), c)}
}

// Project is the root of the project that the call belongs to, as in Result.
// It is to be asked for before In.
func (s *CallContext) Project() string {
	if s.res == nil {
		return ""
	}
	return s.res.Project()
}

// EffectsIn is Of for the call of a scene, without a second look at what was seen
// there; the file system is the scene's. What was seen holds for one call, so
// the scene is used up: a second In looks again.
func (w *World) EffectsIn(s *CallContext) effects.Result {
	res := s.res
	if res == nil {
		res = paths.NewResolver(w.environment(), s.c)
	}
	s.res, res.Own, res.Others = nil, &w.Own, w.Others
	return w.of(s.c, res)
}
