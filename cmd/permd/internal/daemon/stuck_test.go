package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/underway"
	"github.com/permd/permd/internal/eventually"
)

func TestStuckAt(t *testing.T) {
	now := time.Unix(1000, 0)
	ago := func(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }
	asked := 0
	pointOf := func(path string) string {
		asked++
		return path[:strings.LastIndexByte(path, '/')]
	}
	got := stuckAt([]underway.Late{
		{Place: underway.AtJournal, Since: ago(7)},
		{Place: underway.AtFiles, Path: "/mnt/x/a", Since: ago(9)},
		{Place: underway.AtFiles, Path: "/mnt/x/a", Since: ago(12)},
		{Place: underway.AtFiles, Path: "/mnt/x/b", Since: ago(10)},
		{Place: underway.AtSlot, Since: ago(8)},
		{Place: underway.AtRules, Since: ago(6)},
	}, pointOf)
	want := []StuckDecisions{
		{underway.AtFiles, "/mnt/x", 3, ago(12)},
		{underway.AtSlot, "", 1, ago(8)},
		{underway.AtJournal, "", 1, ago(7)},
		{underway.AtRules, "", 1, ago(6)},
	}
	if diff := cmp.Diff(want, got); diff != "" || asked != 2 {
		t.Errorf("asked %d times for mounts; places differ (-want +got):\n%s", asked, diff)
	}
	var lines []string
	for _, s := range got {
		lines = append(lines, StuckLine(s, now))
	}
	if diff := cmp.Diff([]string{
		"3 decisions stuck for 12s below /mnt/x", "1 decision stuck for 8s waiting for others to be decided",
		"1 decision stuck for 7s waiting for the journal", "1 decision stuck for 6s in the rules",
	}, lines); diff != "" {
		t.Errorf("lines differ (-want +got):\n%s", diff)
	}
	if got := stuckAt(nil, pointOf); got != nil {
		t.Errorf("nothing is stuck: %+v", got)
	}
}

// TestStuckAtMany: however many places clients name, few are told apart, and all
// decisions are counted.
func TestStuckAtMany(t *testing.T) {
	var late []underway.Late
	for i := range 10 * maxStuckPlaces {
		late = append(late, underway.Late{Place: underway.AtFiles, Path: fmt.Sprintf("/mnt/%d/a", i), Since: time.Unix(int64(i), 0)})
	}
	asked := 0
	got := stuckAt(late, func(path string) string { asked++; return path })
	n := 0
	for _, s := range got {
		n += s.Count
	}
	if len(got) > maxStuckPlaces+1 || n != len(late) || asked > maxStuckPlaces {
		t.Errorf("%d places with %d decisions, asked for %d mounts", len(got), n, asked)
	}
}

// TestStuckDecision: a decision at a file that does not answer, by a local file system,
// is found in the status, and is gone from it when it has ended.
func TestStuckDecision(t *testing.T) {
	w := newBenchWorld(t, true)
	hang := make(chan struct{})
	hung, err := w.engine.Decisions.With(func(c *decisions.Config) { c.FS = hangingFS{c.FS, hang} })
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		hung.Decide(t.Context(), &decisions.Request{Call: effects.Call{
			Agent: effects.Party{Name: "claude-code"}, Tool: effects.Tool{Name: "Read"},
			Input: []byte(`{"file_path":"/etc/hostname"}`), Cwd: w.project, User: effects.User{Home: w.project},
		}})
	}()
	limit := time.Duration(w.rules.Settings.Limits.DecisionMilliseconds)*time.Millisecond + beyondDeadline
	if got := w.stuck(time.Now()); len(got) > 0 {
		t.Errorf("at once: %+v", got)
	}
	var got []StuckDecisions
	eventually.Holds(t, "the decision is at the file", func() bool {
		got = w.stuck(time.Now().Add(limit + time.Minute))
		return len(got) > 0 && got[0].Where == underway.AtFiles
	})
	if len(got) != 1 || got[0].Count != 1 || got[0].Mount == "" {
		t.Errorf("stuck: %+v", got)
	}
	close(hang)
	<-ended
	if got := w.stuck(time.Now().Add(time.Hour)); len(got) > 0 {
		t.Errorf("after its end: %+v", got)
	}
}
