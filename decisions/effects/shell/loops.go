package shell

import (
	"mvdan.cc/sh/v3/syntax"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/runs"
)

// loop walks a condition and a body that may run any number of times, until the scope at
// the beginning of an iteration no longer changes. name is the variable that each
// iteration sets, "" for none.
func (s *walker) loop(at scope, cond, body []*syntax.Stmt, until bool, name string, in runs.Input) exitScopes {
	return s.loopOver(at, cond, body, until, name, nil, in)
}

// loopOver is loop for a variable that each iteration sets to one of the names of a
// pattern, or to what is not known without one.
func (s *walker) loopOver(at scope, cond, body []*syntax.Stmt, until bool, name string, pattern *effects.Word, in runs.Input) exitScopes {
	first, before := len(s.b.Effects), s.b.Changes()
	if name != "" {
		s.assign(name, &at)
	}
	var end scope
	walk := func(head scope) (back scope) {
		ends := s.inLoop(func() {
			if name != "" {
				s.assign(name, &head)
			}
			run, stop := head, head
			if len(cond) > 0 {
				out := s.stmts(cond, head, in)
				if run, stop = out.success, out.failure; until {
					run, stop = stop, run
				}
			}
			end = stop
			if pattern != nil {
				s.setNames(name, pattern.Text, pattern.Dir, &run)
			}
			out := s.stmts(body, run, in)
			back = out.end()
		})
		end = join(end, ends.breaks)
		return join(back, ends.continues)
	}
	once, news := len(s.b.Effects), s.definitions
	sinks, besides := len(s.sinks), len(s.concurrentParts)
	for round := 0; ; round++ {
		back := walk(at)
		if round == 0 {
			once, sinks, besides = len(s.b.Effects), len(s.sinks), len(s.concurrentParts)
		}
		next := join(at, back)
		if s.full || next.equal(&at) && s.definitions == news {
			if round == 0 {
				s.rewalk(first, once, before, func() { walk(at) })
			} else if next := len(s.b.Effects); sameEffects(s.b.Effects[first:once], s.b.Effects[once:], next-once) {
				s.b.Effects = s.b.Effects[:once]
			}
			return bothExits(end)
		}
		if round > 0 {
			// No fixed point within the bound: any folder, any values.
			next.keep(at.places)
			next.vars = nil
		}
		if round > maxRounds {
			s.unknown("a loop that permd does not follow to its end")
			return bothExits(end)
		}
		at, news = next, s.definitions
		// The next iteration has all effects of this one, and more: only the first and
		// the last are kept.
		s.b.Effects, s.sinks, s.concurrentParts = s.b.Effects[:once], s.sinks[:sinks], s.concurrentParts[:besides]
	}
}

// maxRounds is how often the body of a loop is walked. Each time, another name may turn
// out to be redefined or set.
const maxRounds = 8

func (s *walker) forClause(cmd *syntax.ForClause, at scope, in runs.Input) exitScopes {
	name := ""
	switch loop := cmd.Loop.(type) {
	case *syntax.WordIter:
		var items []effects.Word
		for _, item := range loop.Items {
			items = s.expand(items, item, &at, in, inCommand)
		}
		s.abort(&at, items)
		name = loop.Name.Value
		if !plainVariable(name) {
			s.state("sets the variable "+name, "for "+name)
		}
		if out, ok := s.rounds(cmd, name, items, at, in); ok {
			return out
		}
	default:
		s.substitutions(cmd.Loop, &at, in)
		s.unknown("arithmetic on variables can run code that they hold")
		s.setAny()
	}
	if cmd.Select {
		// It reads standard input, sets REPLY, and takes any word any number of times.
		s.unknown("a select loop")
	}
	return s.loop(at, nil, cmd.Do, false, name, in)
}

// rounds walks the body of a loop once for each of its words, and for a pattern any number
// of times; it returns false if these are not all known.
func (s *walker) rounds(cmd *syntax.ForClause, name string, items []effects.Word, at scope, in runs.Input) (exitScopes, bool) {
	if len(items) > maxLoopWords || len(items) > 0 && (s.unrolledLoops >= maxLoops || len(s.source(cmd)) > maxLoopText) {
		s.boundHit = true
		return exitScopes{}, false
	}
	if len(items) == 0 || cmd.Select || !plainVariable(name) {
		return exitScopes{}, false
	}
	s.unrolledLoops++
	for i := range items {
		if items[i].Dynamic() || items[i].Glob && items[i].Dir == "" {
			return exitScopes{}, false
		}
	}
	s.assign(name, &at)
	broken := scope{unreachable: true}
	for i := range items {
		if items[i].Glob {
			out := s.loopOver(at, nil, cmd.Do, false, name, &items[i], in)
			at = out.end()
			continue
		}
		s.set(name, items[i].Text, &at)
		var out exitScopes
		ends := s.inLoop(func() { out = s.stmts(cmd.Do, at, in) })
		at = join(out.end(), ends.continues)
		broken = join(broken, ends.breaks)
	}
	return bothExits(join(at, broken)), true
}
