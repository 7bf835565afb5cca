package shell

import (
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/runs"
)

// The text is walked from beginning to end, and each part is judged by the state that the
// preceding parts leave. Some parts run at the same time as later ones, or again after
// them: for these, too, changes by the later parts count, so they are walked a second
// time.

// concurrentPart is a part that runs at the same time as the parts after it.
type concurrentPart struct {
	first  int // index of its first effect
	end    int // index after its last effect
	before int // number of changes when it had been walked
	walk   func()
}

// walkConcurrent walks a part that runs while later parts run.
func (s *walker) walkConcurrent(walk func()) {
	first := len(s.b.Effects)
	walk()
	if !s.rewalking {
		s.concurrentParts = append(s.concurrentParts, concurrentPart{first: first, end: len(s.b.Effects), before: s.b.Changes(), walk: walk})
	}
}

// rewalkConcurrent walks those concurrent parts again that later parts have changed.
func (s *walker) rewalkConcurrent() {
	parts := s.concurrentParts
	s.concurrentParts = nil
	for _, p := range parts {
		s.rewalk(p.first, p.end, p.before, p.walk)
	}
}

// rewalk walks a part again, whose effects are those from first up to end, if the number
// of changes has grown since before.
func (s *walker) rewalk(first, end, before int, walk func()) {
	if s.rewalking || s.full || s.b.Changes() == before {
		return
	}
	s.rewalking = true
	defer func() { s.rewalking = false }()
	next := len(s.b.Effects)
	walk()
	if sameElsewhere(s.b.Effects[first:end], s.b.Effects[next:], next-first) {
		s.b.Effects = s.b.Effects[:next]
	}
}

// sink is the range of the effects of commands in >(…).
type sink struct{ from, to int }

// drain gives the sinks from index n on their input: what the effects from first on
// write.
func (s *walker) drain(n, first int, in runs.Input) {
	sinks := s.sinks[min(n, len(s.sinks)):]
	if len(sinks) == 0 {
		return
	}
	network := in.Kind == effects.StdinNetwork
	at := first
	for _, k := range append(sinks[:len(sinks):len(sinks)], sink{len(s.b.Effects), 0}) {
		network = network || s.reachesNetwork(at, min(k.from, len(s.b.Effects)))
		at = max(at, k.to)
	}
	for _, k := range sinks {
		for i := k.from; network && i < min(k.to, len(s.b.Effects)); i++ {
			if r := s.b.Effects[i].Run; r != nil && r.Stdin == effects.StdinPipe {
				r.Stdin = effects.StdinNetwork
			}
		}
	}
	s.sinks = s.sinks[:n]
}
