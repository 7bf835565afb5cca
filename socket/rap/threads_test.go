package rap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/native"
)

// TestClosedBetween: if a thread's parent was closed and opened again below others,
// the thread is below these only with a person's approval.
func TestClosedBetween(t *testing.T) {
	type step struct{ path, at string } // "-x" closes x
	for name, steps := range map[string][]step{
		"its parent elsewhere":     {{"a/pick/own", ""}, {"-pick", ""}, {"b/pick/own", "thread_ancestors"}},
		"its parent as before":     {{"a/pick/own", ""}, {"-pick", ""}, {"a/pick/own", ""}},
		"its parent a root now":    {{"a/pick/own", ""}, {"-pick", ""}, {"pick/own", "thread_ancestors"}},
		"two above":                {{"a/b/pick/own", ""}, {"-b", ""}, {"-pick", ""}, {"c/b/pick/own", "thread_ancestors"}},
		"the parent was there":     {{"a/pick/own", ""}, {"-pick", ""}, {"b/pick", ""}, {"b/pick/own", "thread_ancestors"}},
		"it was closed as well":    {{"a/pick/own", ""}, {"-pick", ""}, {"-own", ""}, {"b/pick/own", ""}},
		"another below the parent": {{"a/pick/own", ""}, {"-pick", ""}, {"b/pick/other", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			d.verdicts["list"] = decisions.Allow
			for i, s := range steps {
				if id, closes := strings.CutPrefix(s.path, "-"); closes {
					d.Must(t, MethodCloseThread, `{"thread_id":"`+id+`"}`)
					continue
				}
				r := d.must(t, MethodInvoke, invoked(fmt.Sprint("c", i), s.path, "list", ""))
				at := ""
				for _, f := range r.Decision.Defects {
					at = f.At
				}
				if at != s.at || (r.Outcome == Run) != (s.at == "") {
					t.Errorf("%s: defect %q, %s", s.path, at, r.Outcome)
				}
			}
		})
	}
}

// TestSessionOfThatID: a choice for a session does not apply to a thread with its
// id, nor the other way round.
func TestSessionOfThatID(t *testing.T) {
	const declared = `{"sessionId":"s","cwd":"/home/ana/shop"}`
	d := newDaemon(t)
	d.Must(t, native.MethodSession, declared)
	for _, path := range []string{"s", "s/pick", "root/s/pick", "root/s"} {
		d.Refused(t, MethodInvoke, invoked("c", path, "move", ""), "id of a session")
		d.Refused(t, MethodInvoke, invoked("c", path, "move", `"sessionId":"s"`), "id of a session")
	}
	// What was rejected in the session stays.
	if r := d.must(t, MethodCloseThread, `{"thread_id":"s"}`); *r.Closed || d.ended != nil {
		t.Errorf("closed: %t, ended %q", *r.Closed, d.ended)
	}
	d.Must(t, native.MethodClose, `{"sessionId":"s"}`)
	d.must(t, MethodInvoke, invoked("c", "root/s/pick", "move", ""))
	d.Refused(t, native.MethodSession, declared, "id of a thread")
	d.Must(t, native.MethodSession, `{"sessionId":"other","cwd":"/home/ana/shop"}`)
	d.Connect(2)
	d.Must(t, native.MethodSession, declared) // it is another connection's
	d.Connect(3)
	d.must(t, MethodInvoke, invoked("c", "root/s", "move", ""))
	d.must(t, MethodCloseThread, `{"thread_id":"s"}`)
	d.Must(t, native.MethodSession, declared)
}

// TestForgottenLast: a thread that may have remembered choices is kept longer than
// others, up to a bound.
func TestForgottenLast(t *testing.T) {
	d := newDaemon(t)
	d.verdicts["list"] = decisions.Allow
	chosen0 := d.must(t, MethodInvoke, invoked("c", "root/own", "move", ""))
	d.must(t, MethodChoice, chosen(chosen0.Decision.ID, 0))
	own := d.must(t, MethodInvoke, invoked("c", "by-verdict", "move", ""))
	d.Must(t, native.MethodChoose, `{"decisionId":"`+own.Decision.ID+`","verdict":"deny"}`)
	s := stateOf(d.Conn)
	chain := func(n int) []string {
		list := make([]string, maxAncestors)
		for i := range list {
			list[i] = fmt.Sprint("t", n, "-", i)
		}
		return list
	}
	for n := range maxThreads/maxAncestors + 2 {
		s.enter(chain(n))
	}
	for id, want := range map[string]bool{"root": true, "own": false, "by-verdict": true} {
		if s.knows(id) != want {
			t.Errorf("%s: %t", id, s.knows(id))
		}
	}
	if len(s.threads) != maxThreads {
		t.Errorf("%d threads", len(s.threads))
	}
	for n := range 4*maxThreads/maxAncestors + 2 {
		for _, of := range s.enter(chain(1000 + n)).chain {
			s.keep(of)
		}
	}
	if s.knows("root") || len(s.threads) > 4*maxThreads {
		t.Errorf("%t, %d threads", s.knows("root"), len(s.threads))
	}
}

// TestManyAbove: the number of a thread's possible parents is bounded.
func TestManyAbove(t *testing.T) {
	s := stateOf(newDaemon(t).Conn)
	var path []string
	for i := range maxAncestors {
		above := make([]string, maxAncestors)
		for j := range above {
			above[j] = fmt.Sprint("a", i, "-", j)
		}
		path = append(path, fmt.Sprint("t", i))
		s.enter(append(above, path[i]))
	}
	if l := s.enter(append(path, "own")); !l.contrary || len(l.above) != maxAbove || l.above[0] != path[maxAncestors-1] {
		t.Errorf("%t, %d threads above, the first %q", l.contrary, len(l.above), l.above[0])
	}
}
