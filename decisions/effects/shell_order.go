package effects

// The text is walked from its beginning to its end, and what comes later is
// judged as what stands before it leaves things. Some parts run at the same
// time as later ones, or again after them: what these change of where paths
// lead holds for the former, too, so they are walked a second time.

// beside is a part that runs at the same time as what stands behind it.
type beside struct {
	first  int // its effects, from
	end    int // up to
	before int // the changes there were when it had been walked
	walk   func()
}

// concurrently walks a part that goes on while later parts run.
func (s *walker) concurrently(walk func()) {
	first := len(s.b.effects)
	walk()
	if !s.again {
		s.beside = append(s.beside, beside{first: first, end: len(s.b.effects), before: s.b.changes(), walk: walk})
	}
}

// rejoin walks the concurrent parts again that something behind them changes.
func (s *walker) rejoin() {
	parts := s.beside
	s.beside = nil
	for _, p := range parts {
		s.repeat(p.first, p.end, p.before, p.walk)
	}
}

// repeat walks a part again, of which the effects from first up to end are
// known, when there have been changes since there were before.
func (s *walker) repeat(first, end, before int, walk func()) {
	if s.again || s.full || s.b.changes() == before {
		return
	}
	s.again = true
	defer func() { s.again = false }()
	next := len(s.b.effects)
	walk()
	if sameElsewhere(s.b.effects[first:end], s.b.effects[next:], next-first) {
		s.b.effects = s.b.effects[:next]
	}
}

// sink is the part of the effects that the commands of >(…) have.
type sink struct{ from, to int }

// drain decides what the sinks from index n on read: what the rest of the
// effects from first on write.
func (s *walker) drain(n, first int, in input) {
	sinks := s.sinks[min(n, len(s.sinks)):]
	if len(sinks) == 0 {
		return
	}
	network := in.kind == StdinNetwork
	at := first
	for _, k := range append(sinks[:len(sinks):len(sinks)], sink{len(s.b.effects), 0}) {
		network = network || s.reachesNetwork(at, min(k.from, len(s.b.effects)))
		at = max(at, k.to)
	}
	for _, k := range sinks {
		for i := k.from; network && i < min(k.to, len(s.b.effects)); i++ {
			if r := s.b.effects[i].Run; r != nil && r.Stdin == StdinPipe {
				r.Stdin = StdinNetwork
			}
		}
	}
	s.sinks = s.sinks[:n]
}
