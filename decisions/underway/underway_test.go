package underway

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestUnderway(t *testing.T) {
	var u Requests
	now := time.Unix(1000, 0)
	places := func(before time.Time) string {
		var all []string
		for _, l := range u.Late(before) {
			all = append(all, string(l.Place)+" "+l.Path)
		}
		slices.Sort(all)
		return strings.Join(all, ", ")
	}
	a, b, c := u.Begin(AtSlot, now), u.Begin(AtRules, now.Add(time.Second)), u.Begin(AtRules, now.Add(2*time.Second))
	if got := places(now); got != "" {
		t.Errorf("at the beginning: %s", got)
	}
	b.Visit(AtFiles, "/mnt/x")
	c.Enter(AtJournal)
	if got := places(now.Add(time.Second)); got != "slot " {
		t.Errorf("after a second: %s", got)
	}
	if got := places(now.Add(time.Minute)); got != "files /mnt/x, journal , slot " {
		t.Errorf("after a minute: %s", got)
	}
	b.End() // the one in the middle
	if got := places(now.Add(time.Minute)); got != "journal , slot " {
		t.Errorf("one has ended: %s", got)
	}
	c.End()
	a.End()
	if u.first != nil {
		t.Error("something is left")
	}
	var none *Requests
	w := none.Begin(AtSlot, now)
	w.Enter(AtRules)
	w.End()
	if none.Late(now) != nil || Of(context.Background()) != nil {
		t.Error("nothing knows something")
	}
}

func TestUnderwayConcurrent(t *testing.T) {
	var u Requests
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				w := u.Begin(AtSlot, time.Unix(0, 0))
				w.Visit(AtFiles, "/x")
				for _, l := range u.Late(time.Unix(1, 0)) {
					if (l.Place == AtFiles) != (l.Path == "/x") {
						t.Errorf("late: %+v", l)
					}
				}
				w.End()
			}
		})
	}
	all.Wait()
	if u.first != nil {
		t.Error("something is left")
	}
}

// BenchmarkUnderway is what a decision with 20 looks at files pays for being known.
func BenchmarkUnderway(b *testing.B) {
	var u Requests
	b.ReportAllocs()
	for b.Loop() {
		w := u.Begin(AtRules, time.Time{})
		for range 20 {
			w.Visit(AtFiles, "/home/u/project")
			w.Enter(AtRules)
		}
		w.End()
	}
}
