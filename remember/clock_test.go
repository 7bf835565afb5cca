//go:build cgo

package remember_test

import (
	"sync"
	"testing"
	"time"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/remember"
)

// setClock is a memory with a fake clock.
type setClock struct {
	t       *testing.T
	now     time.Time
	options remember.Options
	*remember.Store
}

func newSetClock(t *testing.T) *setClock {
	c := &setClock{t: t, now: noon, options: options(path(t))}
	c.options.Now = func() time.Time { return c.now }
	c.Store = open(t, c.options)
	return c
}

func (c *setClock) at(since time.Duration) { c.now = noon.Add(since) }

func (c *setClock) restart() {
	c.t.Helper()
	if err := c.Close(); err != nil {
		c.t.Fatal(err)
	}
	c.Store = open(c.t, c.options)
}

func (c *setClock) says(e effects.Effect) string {
	c.t.Helper()
	q := ask(e)
	q.Session.Conn, q.Now = 0, c.now
	return said(c.t, c.Store, q)
}

func (c *setClock) keep(v decisions.Verdict, e effects.Effect, scope remember.ScopeKind, limit time.Duration) remember.Choice {
	c.t.Helper()
	q := ask(e)
	q.Session.Conn = 0
	d := remember.Draft{Verdict: v, Query: q, Scope: scope}
	if limit > 0 {
		d.Expires = c.now.Add(limit)
	}
	return save(c.t, c.Store, d)
}

// TestClockJumps: an expired choice stays expired when the clock is set back, and no
// choice is valid for longer than intended.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	c := newSetClock(t)
	vet := run("go", "vet")
	c.keep(decisions.Allow, vet, remember.ForUser, time.Hour)
	for _, step := range []struct {
		at   time.Duration
		want string
	}{{0, "allow"}, {59 * time.Minute, "allow"}, {-time.Hour, "allow"}, {2 * time.Hour, ""}, {0, ""}, {-24 * time.Hour, ""}} {
		if c.at(step.at); c.says(vet) != step.want {
			t.Errorf("at %v: %q, want %q", step.at, c.says(vet), step.want)
		}
	}
	if list := c.List(nil); len(list) != 0 {
		t.Errorf("what has ended is listed: %+v", list)
	}
}

// TestClockSetBackForGood: choices made after the clock was corrected are valid as long
// as they should be, and choices that expired by the wrong clock stay expired.
func TestClockSetBackForGood(t *testing.T) {
	t.Parallel()
	c := newSetClock(t)
	early, late := run("go", "vet"), run("go", "list")
	c.keep(decisions.Allow, early, remember.ForUser, time.Hour)
	c.keep(decisions.Deny, run("rm"), remember.ForUser, time.Hour)
	c.at(365 * 24 * time.Hour) // by mistake
	if c.says(early) != "" {
		t.Fatal("an hour lasts a year")
	}
	c.at(time.Minute)
	c.keep(decisions.Allow, late, remember.ForUser, time.Hour)
	c.keep(decisions.Allow, run("ls"), remember.ForSession, 0)
	if c.says(late) != "allow" || c.says(run("ls")) != "allow" {
		t.Errorf("made after the clock was corrected: %q, for the session %q", c.says(late), c.says(run("ls")))
	}
	if c.says(early) != "" {
		t.Error("what had ended is back")
	}
	if c.says(run("rm")) != "deny" {
		t.Error("a reject ended early")
	}
	c.restart()
	if c.says(early) != "" || c.says(late) != "allow" {
		t.Errorf("after a restart: %q and %q", c.says(early), c.says(late))
	}
	if c.at(2 * time.Hour); c.says(late) != "" {
		t.Error("an hour lasts two")
	}
}

// TestClockBackAfterRestart: expired choices stay expired when permd is restarted with a
// clock that is behind.
func TestClockBackAfterRestart(t *testing.T) {
	t.Parallel()
	c := newSetClock(t)
	c.keep(decisions.Allow, run("go", "vet"), remember.ForUser, time.Hour)
	c.keep(decisions.Allow, run("ls"), remember.ForSession, 0)
	c.at(13 * time.Hour)
	if err := c.Flush(t.Context()); err != nil { // as the daemon does now and then
		t.Fatal(err)
	}
	c.at(0)
	c.restart()
	if c.says(run("go", "vet")) != "" || c.says(run("ls")) != "" {
		t.Errorf("back: %q, %q", c.says(run("go", "vet")), c.says(run("ls")))
	}

	// The newest choice shows that the clock was later once.
	c.at(13 * time.Hour)
	c.keep(decisions.Allow, run("go", "env"), remember.ForUser, time.Hour)
	c.at(20 * time.Hour)
	c.keep(decisions.Allow, run("go", "mod"), remember.ForUser, 0)
	c.at(13 * time.Hour)
	c.restart()
	if c.says(run("go", "env")) != "" || c.says(run("go", "mod")) != "allow" {
		t.Errorf("the choice that had ended says %q, the other %q", c.says(run("go", "env")), c.says(run("go", "mod")))
	}
}

// TestCoarseTime: the coarse time of a request also ends choices, and a time
// more than a second behind does not revive them.
func TestCoarseTime(t *testing.T) {
	t.Parallel()
	c := newSetClock(t)
	vet := run("go", "vet")
	c.keep(decisions.Allow, vet, remember.ForUser, time.Minute)
	q := ask(vet)
	for _, step := range []struct {
		at   time.Duration
		want string
	}{{59 * time.Second, "allow"}, {50 * time.Second, "allow"}, {time.Minute, ""}, {61 * time.Second, ""}, {59 * time.Second, ""}, {-time.Hour, ""}} {
		q.Now = noon.Add(step.at)
		if got := said(t, c.Store, q); got != step.want {
			t.Errorf("at %v: %q, want %q", step.at, got, step.want)
		}
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	now := noon
	var mu sync.Mutex
	o := remember.Options{Path: path(t), Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}}
	advance := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	s := open(t, o)
	limited, session, hook := ask(run("make")), ask(run("ls")), ask(run("wc"))
	hook.Session.Conn = 0
	save(t, s, remember.Draft{Verdict: decisions.Allow, Query: limited, Scope: remember.ForUser, Expires: noon.Add(time.Hour)})
	save(t, s, remember.Draft{Verdict: decisions.Allow, Query: session, Scope: remember.ForSession})
	save(t, s, remember.Draft{Verdict: decisions.Allow, Query: hook, Scope: remember.ForSession})
	check := func(s *remember.Store, want string) {
		t.Helper()
		have := ""
		for _, q := range []*decisions.MemoryQuery{limited, session, hook} {
			q.Now = o.Now()
			if said(t, s, q) == "allow" {
				have += "+"
			} else {
				have += "-"
			}
		}
		if have != want {
			t.Errorf("at %v: have %s, want %s", o.Now().Sub(noon), have, want)
		}
	}
	check(s, "+++")
	advance(time.Hour - 1)
	check(s, "+++")
	advance(1)
	check(s, "-++")
	limited.Now = time.Time{}
	if said(t, s, limited) != "" {
		t.Error("without a time an expired choice matched")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, o)
	check(s, "--+") // the connection ended with the daemon
	advance(12 * time.Hour)
	check(s, "--+")
	advance(12*time.Hour + 1)
	check(s, "---")
	if list := s.List(nil); len(list) != 0 {
		t.Errorf("have %v, want nothing", list)
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(s, "---")
}
