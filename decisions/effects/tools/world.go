// Package tools turns a tool call into its effects. The profiles of agents say
// whose tool it is and what the members of its input mean; shell text, paths and
// addresses in it are read by the sibling packages. [World.Effects] is the entry
// point.
package tools

import (
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
)

// World holds what effects are derived from. It is immutable and shared by requests.
type World struct {
	FS       effects.FS
	Table    *programs.Table // the programs
	Profiles *Profiles       // the agents' own tools
	Own      paths.Own       // permd's own files
	// Others is set if calls come from users other than the daemon's. The daemon may
	// be able to read more than they can, so whatever is below a folder that the
	// caller cannot search is unknown.
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

// CallContext is where a call comes from: its folders and project, read once.
type CallContext struct {
	c   *effects.Call
	res *paths.Resolver // nil once it was used
}

// CallContext reads where a call comes from. It uses neither Table nor Profiles,
// which may depend on the project.
func (w *World) CallContext(c *effects.Call) *CallContext {
	return &CallContext{c: c, res: paths.NewResolver(w.environment(), c)}
}

// Project returns the root of the call's project, as in Result. It must be called
// before EffectsIn.
func (s *CallContext) Project() string {
	if s.res == nil {
		return ""
	}
	return s.res.Project()
}

// EffectsIn is like Effects for the call of a context, but does not read again what
// the context has read; the file system is the context's. A context is good for one
// use: with a second, everything is read again.
func (w *World) EffectsIn(s *CallContext) effects.Result {
	res := s.res
	if res == nil {
		res = paths.NewResolver(w.environment(), s.c)
	}
	s.res, res.Own, res.Others = nil, &w.Own, w.Others
	return w.of(s.c, res)
}
