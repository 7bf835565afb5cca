package shell

import (
	"slices"

	"github.com/permd/permd/decisions/effects"
)

// The walk over shell text is a small abstract interpreter. A scope is the known state of
// the shell at one point of the text: the folders that it may be in and the variables
// with known values. Where control flow meets, after a condition, a list, a loop or a
// command that may have failed, the scope is the join of the incoming ones. Nothing else
// combines scopes.

// Bounds of a scope.
const (
	maxPlaces = 4  // folders that a shell may be in; with more, it may be in any
	maxVars   = 64 // variables whose values are tracked at once
)

// location is a folder that the shell may be in, as the shell sees it.
type location struct {
	cwd     string   // absolute and cleaned, links not followed
	old     string   // target of "cd -", "" if not known
	stack   []string // targets of popd, the top at the end
	outside bool     // a cd has left the project
	moved   bool     // it was entered by a cd of the text
}

// scope is the known state at one point of the text.
type scope struct {
	// places are the folders that the shell may be in. The slice is shared and
	// immutable.
	places []location
	// elsewhere is set if it may be in any other folder too: an unknown folder is a
	// scope with elsewhere and without places.
	elsewhere bool
	// unreachable is set if no control flow leads here. The following code is walked
	// nevertheless, with the rest of the scope, for rules that deny.
	unreachable bool
	// subprocess is set if the scope is that of a separate process, which does not
	// change the folder of another.
	subprocess bool
	vars       *binding
}

// exitScopes are the scopes after a command that succeeded, and after one that
// failed.
type exitScopes struct{ success, failure scope }

// bothExits is the result of a command that does not change the shell.
func bothExits(at scope) exitScopes { return exitScopes{at, at} }

// end is the scope after a command whose exit status is ignored.
func (o *exitScopes) end() scope { return join(o.success, o.failure) }

// startAt is the scope of a text that runs in a folder, "" if not known.
func startAt(cwd string) scope {
	if cwd == "" {
		return scope{elsewhere: true}
	}
	return scope{places: []location{{cwd: cwd}}}
}

// subshell is the scope of a subshell.
func (at *scope) subshell() scope {
	inner := *at
	inner.subprocess = true
	return inner
}

// cwd returns the shell's folder, "" if there are several or none is known.
func (at *scope) cwd() string {
	if at.elsewhere || len(at.places) != 1 {
		return ""
	}
	return at.places[0].cwd
}

// asUnreachable returns the scope as unreachable.
func (at *scope) asUnreachable() scope {
	d := *at
	d.unreachable = true
	return d
}

// join returns the scope where two paths of control flow meet.
func join(a, b scope) scope {
	switch {
	case a.unreachable && !b.unreachable:
		return b
	case b.unreachable && !a.unreachable:
		return a
	}
	a.elsewhere, a.subprocess = a.elsewhere || b.elsewhere, a.subprocess || b.subprocess
	a.vars = joinVars(a.vars, b.vars)
	if len(a.places) == 0 {
		a.places = b.places
	} else if len(b.places) > 0 && (len(a.places) != len(b.places) || &a.places[0] != &b.places[0]) {
		a.add(b.places)
	}
	return a
}

// add adds places that the shell may be in.
func (at *scope) add(places []location) {
	owned := false
	own := func() {
		if !owned {
			at.places, owned = slices.Clone(at.places), true
		}
	}
	for _, p := range places {
		i := slices.IndexFunc(at.places, func(q location) bool { return q.cwd == p.cwd })
		switch {
		case i >= 0:
			if q := at.places[i].with(p); !q.equal(at.places[i]) {
				own()
				at.places[i] = q
			}
		case len(at.places) >= maxPlaces:
			at.elsewhere = true
		default:
			own()
			at.places = append(at.places, p)
		}
	}
}

// keep drops all folders but some: the shell may then be elsewhere.
func (at *scope) keep(places []location) {
	kept := make([]location, 0, len(places))
	for _, p := range at.places {
		if slices.ContainsFunc(places, func(q location) bool { return q.cwd == p.cwd }) {
			kept = append(kept, p)
		}
	}
	at.elsewhere = at.elsewhere || len(kept) < len(at.places)
	at.places = kept
}

// with returns the join of two locations with the same folder.
func (w location) with(o location) location {
	if w.old != o.old {
		w.old = ""
	}
	if !slices.Equal(w.stack, o.stack) {
		w.stack = nil
	}
	w.outside = w.outside || o.outside
	w.moved = w.moved && o.moved
	return w
}

func (w location) equal(o location) bool {
	return w.cwd == o.cwd && w.old == o.old && w.outside == o.outside && w.moved == o.moved && slices.Equal(w.stack, o.stack)
}

// equal reports whether two scopes are equal. Places are compared in their order: a join
// preserves that of its first scope.
func (at *scope) equal(o *scope) bool {
	return at.elsewhere == o.elsewhere && at.unreachable == o.unreachable && slices.EqualFunc(at.places, o.places, location.equal) && sameVars(at.vars, o.vars)
}

// binding is a list of variables with known values, each once. A variable that is not in
// the list was not set by the text, or its value is not known (see walker.maySet).
type binding struct {
	name, value string
	// glob is the folder in which value is a pattern, one of whose names is the
	// variable's value; "" for a value that is known.
	glob string
	next *binding
	n    int // length of the list
}

// find returns the binding of a variable, nil if there is none.
func (b *binding) find(name string) *binding {
	for ; b != nil; b = b.next {
		if b.name == name {
			return b
		}
	}
	return nil
}

// valueOf returns the value of a variable.
func (at *scope) valueOf(name string) (string, bool) {
	if b := at.vars.find(name); b != nil && b.glob == "" {
		return b.value, true
	}
	return "", false
}

// bind records the value of a variable, or with a folder the pattern that it matches
// there.
func (at *scope) bind(name, value, glob string) {
	at.unbind(name)
	n := 1
	if at.vars != nil {
		n += at.vars.n
	}
	if n <= maxVars {
		at.vars = &binding{name: name, value: value, glob: glob, next: at.vars, n: n}
	}
}

// unbind drops the value of a variable.
func (at *scope) unbind(name string) {
	if at.vars.find(name) != nil {
		at.vars = at.vars.without(func(b *binding) bool { return b.name == name })
	}
}

// without returns the list without some variables.
func (b *binding) without(lacks func(*binding) bool) *binding {
	var kept []*binding
	for ; b != nil; b = b.next {
		if !lacks(b) {
			kept = append(kept, b)
		}
	}
	var list *binding
	for i, k := range slices.Backward(kept) {
		list = &binding{name: k.name, value: k.value, glob: k.glob, next: list, n: len(kept) - i}
	}
	return list
}

// joinVars returns the variables with equal values in both lists.
func joinVars(a, b *binding) *binding {
	if a == b || a == nil || b == nil {
		if a == b {
			return a
		}
		return nil
	}
	differs := func(x *binding) bool {
		y := b.find(x.name)
		return y == nil || y.value != x.value || y.glob != x.glob
	}
	for x := a; x != nil && x != b; x = x.next {
		if differs(x) {
			return a.without(differs)
		}
	}
	return a
}

func sameVars(a, b *binding) bool {
	if a == b {
		return true
	}
	return a != nil && b != nil && a.n == b.n && joinVars(a, b) == a
}

// each calls does for every folder that the shell may be in, "" for an unknown one, and
// keeps the effects that differ.
func (s *walker) each(at *scope, does func(cwd string)) {
	if len(at.places) == 1 && !at.elsewhere {
		does(at.places[0].cwd)
		return
	}
	first := len(s.b.Effects)
	end := -1
	in := func(cwd string) {
		next, quiet := len(s.b.Effects), s.b.Nothing
		if does(cwd); end < 0 {
			end = len(s.b.Effects)
		} else if sameEffects(s.b.Effects[first:end], s.b.Effects[next:], next-first) {
			s.b.Effects, s.b.Nothing = s.b.Effects[:next], quiet
		}
	}
	for i := range at.places {
		if s.boundReached() {
			return
		}
		in(at.places[i].cwd)
	}
	if at.elsewhere || len(at.places) == 0 {
		in("")
	}
}

// sameEffects is sameElsewhere for effects whose folder, and whose reads, count too.
func sameEffects(a, b []effects.Effect, shift int) bool {
	if !sameElsewhere(a, b, shift) {
		return false
	}
	for i := range a {
		if a[i].Run != nil && (a[i].Run.Cwd != b[i].Run.Cwd || a[i].Run.Stdin != b[i].Run.Stdin || a[i].Run.StdinText != b[i].Run.StdinText) {
			return false
		}
	}
	return true
}

// loopEnds collects the scopes at the break and continue commands of a loop.
type loopEnds struct{ breaks, continues scope }

// inLoop walks the body of a loop.
func (s *walker) inLoop(walk func()) loopEnds {
	ends := &loopEnds{scope{unreachable: true}, scope{unreachable: true}}
	outer := s.loops
	s.loops = append(s.loops[:len(s.loops):len(s.loops)], ends)
	walk()
	s.loops = outer
	return *ends
}

// outOfLoops walks what runs in a separate process, where break and continue do not
// leave a loop of the shell.
func (s *walker) outOfLoops(walk func()) {
	outer := s.loops
	s.loops = nil
	walk()
	s.loops = outer
}

// leaveLoops records that the innermost n loops may be left or continued here; n is 0 for
// any number of them.
func (s *walker) leaveLoops(at *scope, n int, broken, continued bool) {
	for i := range s.loops {
		l := s.loops[len(s.loops)-1-i]
		if last := i+1 == n || i+1 == len(s.loops); n > 0 && !last {
			continue
		}
		if broken {
			l.breaks = join(l.breaks, *at)
		}
		if continued {
			l.continues = join(l.continues, *at)
		}
		if n > 0 {
			return
		}
	}
}

// assumeAnything records that the shell may have done anything: changed its folder, set
// variables and left loops.
func (s *walker) assumeAnything(at *scope) {
	at.elsewhere = true
	s.leave(at, "")
	s.setAny()
	at.vars = nil
	s.leaveLoops(at, 0, true, true)
}
