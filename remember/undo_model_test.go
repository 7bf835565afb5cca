//go:build cgo && linux

package remember_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/filetest"
	"github.com/permd/permd/remember"
)

// undoModel is what should be in force, and what was changed, in the simplest form.
type undoModel struct {
	lines   map[string]remember.Line // each choice that there ever was
	until   map[string]time.Time     // of those with a limit
	means   map[string]string        // what each is about
	holding map[string]bool          // not ended by a change
	changes []modelChange
}

type modelChange struct {
	began, ended []string
	undoes       int // of the change, -1 for none
	undone       bool
}

func (m *undoModel) expired(id string, now time.Time) bool {
	at, ok := m.until[id]
	return ok && !now.Before(at)
}

// note makes a change, unless it is about nothing.
func (m *undoModel) note(undoes int, began, ended []string) {
	if len(began)+len(ended) == 0 {
		return
	}
	for _, id := range began {
		m.holding[id] = true
	}
	for _, id := range ended {
		delete(m.holding, id)
	}
	m.changes = append(m.changes, modelChange{began, ended, undoes, false})
}

// undo takes back a change, and reports whether it can be.
func (m *undoModel) undo(i int, now time.Time) bool {
	c := m.changes[i]
	if c.undone {
		return false
	}
	var end, restore []string
	lost := false
	for _, id := range c.began {
		switch {
		case !m.holding[id]:
			return false // a later change has ended it
		case !m.expired(id, now):
			end = append(end, id)
		}
	}
	for _, id := range c.ended {
		equal := slices.ContainsFunc(restore, func(other string) bool { return m.means[other] == m.means[id] })
		for other := range m.holding {
			equal = equal || m.means[other] == m.means[id] && !m.expired(other, now) && !slices.Contains(end, other)
		}
		switch {
		case m.expired(id, now): // over without the change, too
		case equal:
			lost = true
		default:
			restore = append(restore, id)
		}
	}
	if lost && len(c.began) > 0 || len(end)+len(restore) == 0 {
		return false
	}
	m.note(i, restore, end)
	for i := len(m.changes) - 1; i >= 0; i-- {
		m.changes[i].undone = slices.ContainsFunc(m.changes, func(c modelChange) bool { return c.undoes == i && !c.undone })
	}
	return true
}

// TestUndoneChanges adds, changes, forgets and takes back in any order, with restarts and
// crashes, and compares what is in force and what was changed with a model, and the answers with
// those of a memory to which only the lines in force were added.
func TestUndoneChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it starts a memory for each of many histories; TestChangedLines is the quick one")
	}
	t.Parallel()
	undone, refused := 0, 0
	dir := filetest.MemoryDir(t)
	rounds := 0
	rapid.Check(t, func(t *rapid.T) {
		rounds++
		now := noon
		fresh := func(name string) remember.Options {
			d := filepath.Join(dir, fmt.Sprintf("%d-%s", rounds, name))
			if err := os.Mkdir(d, 0o700); err != nil {
				t.Fatal(err)
			}
			o := options(filepath.Join(d, "remember.db"))
			o.Now = func() time.Time { return now }
			return o
		}
		o, crashes := fresh("first"), 0
		start := func() *remember.Store {
			s, err := remember.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := start()
		defer func() { s.Close() }()
		kind := rapid.SampledFrom([]effects.Kind{effects.KindRun, effects.KindRead, effects.KindConnect, effects.KindUse}).Draw(t, "kind")
		m := &undoModel{lines: map[string]remember.Line{}, until: map[string]time.Time{}, means: map[string]string{}, holding: map[string]bool{}}
		began := func(c *remember.Choice, l remember.Line) {
			m.means[c.ID] = fmt.Sprint(l.Verdict, l.Kind, l.Scope, l.Project, c.Label, c.Expires)
			if m.lines[c.ID] = l; !c.Expires.IsZero() {
				m.until[c.ID] = c.Expires
			}
		}
		inForce := func() []string {
			var ids []string
			for id := range m.holding {
				if !m.expired(id, now) {
					ids = append(ids, id)
				}
			}
			slices.Sort(ids)
			return ids
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			ids := inForce()
			switch step := rapid.IntRange(0, 13).Draw(t, "step"); {
			case step < 3 || step < 6 && len(ids) == 0:
				l := drawAdded(t, kind)
				c, err := s.Add(t.Context(), l)
				if err != nil {
					if _, bad := errors.AsType[*pattern.Error](err); !bad && !errors.Is(err, remember.ErrNotRemembered) {
						t.Fatal(err)
					}
				} else if !c.Earlier {
					began(&c, l)
					m.note(-1, []string{c.ID}, nil)
				}
			case step < 5:
				id := rapid.SampledFrom(ids).Draw(t, "changed")
				got, err := s.Change(t.Context(), []string{id}, remember.Change{For: rapid.SampledFrom([]time.Duration{time.Hour, 5 * time.Hour}).Draw(t, "for")})
				if err != nil {
					t.Fatal(err)
				}
				l := m.lines[id]
				l.For = got[0].Expires.Sub(now)
				switch n := got[0].ID; {
				case n == id:
				case m.lines[n].Line != "": // an equal one
					m.note(-1, nil, []string{id})
				default:
					began(&got[0], l)
					m.note(-1, []string{n}, []string{id})
				}
			case step == 5:
				some := rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 1, len(ids), rapid.ID).Draw(t, "forgotten")
				if _, err := s.Forget(t.Context(), some...); err != nil {
					t.Fatal(err)
				}
				m.note(-1, nil, some)
			case step < 11 && len(m.changes) > 0:
				past, err := s.History(ada, 200)
				if err != nil || len(past) != len(m.changes) {
					t.Fatalf("%d changes were made, and there are %d: %v", len(m.changes), len(past), err)
				}
				i := rapid.IntRange(0, len(m.changes)-1).Draw(t, "undone")
				c := past[len(past)-1-i]
				if _, err := s.Undo(t.Context(), nil, c.ID, true); (err == nil) != (c.Refused == "") {
					t.Fatalf("it is listed as %q, and: %v", c.Refused, err)
				}
				_, err = s.Undo(t.Context(), nil, c.ID, false)
				if err != nil && !errors.Is(err, remember.ErrNotUndone) {
					t.Fatal(err)
				}
				if can := m.undo(i, now); can != (err == nil) {
					t.Fatalf("change %d of %+v can be taken back: %t, but: %v", i, m.changes, can, err)
				}
				if undone++; err != nil {
					undone--
					refused++
				}
			case step == 11:
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = start()
			case step == 12: // a crash: the files as they are now
				crashes++
				next := fresh(fmt.Sprint("crashed", crashes))
				for _, suffix := range []string{"", "-wal", ".revoked"} {
					data, err := os.ReadFile(o.Path + suffix)
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(next.Path+suffix, data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				s.Close()
				o = next
				s = start()
			default:
				now = now.Add(rapid.SampledFrom([]time.Duration{time.Minute, 2 * time.Hour}).Draw(t, "later"))
			}
			var have []string
			for _, c := range s.List(nil) {
				have = append(have, c.ID)
			}
			if slices.Sort(have); !slices.Equal(have, inForce()) {
				t.Fatalf("in force are %v, want %v", have, inForce())
			}
		}
		past, err := s.History(ada, 200)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range m.changes {
			if got := past[len(past)-1-i]; (got.UndoneBy != "") != c.undone {
				t.Fatalf("change %d of %+v is undone by %q", i, m.changes, got.UndoneBy)
			}
		}
		oracle, err := remember.Open(fresh("oracle"))
		if err != nil {
			t.Fatal(err)
		}
		defer oracle.Close()
		for _, id := range inForce() {
			l := m.lines[id]
			if at, ok := m.until[id]; ok {
				l.For = at.Sub(now)
			}
			if _, err := oracle.Add(t.Context(), l); err != nil {
				t.Fatalf("what is in force cannot be added: %+v: %v", l, err)
			}
		}
		for range 20 {
			q := drawQuery(t, kind)
			q.Now = now
			answers := func(s *remember.Store) string {
				reject, allow, err := s.Match(q)
				return fmt.Sprint(reject != nil, allow != nil, err)
			}
			if a, b := answers(s), answers(oracle); a != b {
				t.Fatalf("%+v is answered %q, and %q by what should be in force", q.Effect, a, b)
			}
		}
	})
	if undone == 0 || refused == 0 && !testing.Short() {
		t.Errorf("nothing was tested: %d taken back, %d refused", undone, refused)
	}
	t.Logf("%d taken back, %d refused, in %d rounds", undone, refused, rounds)
}
