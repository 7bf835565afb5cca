package main

import (
	"testing"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/socket/admin"
)

// TestChangedEnds: clients are notified that the time of a choice, or of a pause, is over.
func TestChangedEnds(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	project := d.project(t, nil)
	w := d.observes(t, project, true)
	for range 2 { // the second begins after the end of the first was noticed
		if err := d.manage(t, admin.MethodChoicesAdd, admin.NewChoice{Verdict: decisions.Allow, Kind: "write", Line: "./docs/**", Scope: "user", ExpiresIn: 3}, nil); err != nil {
			t.Fatal(err)
		}
		w.sees(t, "choices")
		w.sees(t, "choices")
		if list := d.choices(t); len(list) > 0 {
			t.Errorf("still in force is %+v", list)
		}
	}
	d.pauseFor(t, "2s")
	w.sees(t, "pause")
	w.sees(t, "pause")
	if st := d.status(t); len(st.Pauses) > 0 {
		t.Errorf("still paused: %+v", st.Pauses)
	}
}
