// Package tools turns a tool call into its effects. The profiles of agents determine whose
// tool it is and the roles of its input's members; the sibling packages read the shell
// text, paths and addresses in it. [World.Effects] is the entry point.
package tools

import (
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/decisions/effects/programs"
)

// World is what effects are derived from. It is immutable and shared by requests.
type World struct {
	FS       effects.FS
	Table    *programs.Table // the programs
	Profiles *Profiles       // the agents' own tools
	Own      paths.Own       // permd's own files
	// Others is set if calls come from users other than the daemon's. The daemon may be able
	// to read more than they can, so whatever is below a folder that the caller cannot
	// search is unknown.
	Others bool
	// Machine reads what is known of the machine that permd runs on, when a call names an
	// address for its result. If nil, hosts are judged by their names alone.
	Machine func() *paths.Machine
	// Known is what has been read of it for this call, nil if nothing has.
	Known *paths.Machine
}

// Effects returns the effects of a call. It never fails: what cannot be understood is an
// Unknown effect.
func (w *World) Effects(c *effects.Call) effects.Result {
	return w.EffectsIn(w.CallContext(c))
}

func (w *World) environment() paths.Environment {
	return paths.Environment{FS: w.FS, Own: &w.Own, Others: w.Others}
}

// CallContext holds the folders and project of a call, read once.
type CallContext struct {
	c   *effects.Call
	res *paths.Resolver // nil once it was used

	resolver paths.Resolver
}

// CallContext reads the folders and project of a call. It uses neither Table nor Profiles,
// which may depend on the project.
func (w *World) CallContext(c *effects.Call) *CallContext {
	s := &CallContext{c: c}
	s.resolver.Init(w.environment(), c)
	s.res = &s.resolver
	return s
}

// Project returns the root of the call's project, as in Result. It must be called
// before EffectsIn.
func (s *CallContext) Project() string {
	if s.res == nil {
		return ""
	}
	return s.res.Project()
}

// EffectsIn is like Effects for the call of a context, but does not read again what the
// context has read, through the context's file system. A context can be used once: after
// that, everything is read again.
func (w *World) EffectsIn(s *CallContext) effects.Result {
	res := s.res
	if res == nil {
		res = paths.NewResolver(w.environment(), s.c)
	}
	s.res, res.Own, res.Others = nil, &w.Own, w.Others
	return w.of(s.c, res)
}
